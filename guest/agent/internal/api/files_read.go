package api

import (
	"net/http"
	"strconv"

	"atoll/guest/agent/internal/fileops"
)

type readFileRequest struct {
	Path   guestPath `json:"path"`
	Offset int64     `json:"offset"`
	Length *int64    `json:"length"`
}

func readFile(w http.ResponseWriter, r *http.Request) error {
	request, err := readJSON[readFileRequest](w, r)
	if err != nil {
		return err
	}
	length := int64(-1)
	if request.Length != nil {
		length = *request.Length
	}
	if request.Offset < 0 || request.Length != nil && length < 0 {
		return malformed("offset and length are not negative")
	}
	if err := required(request.Path); err != nil {
		return err
	}
	content, err := fileops.OpenContent(request.Path.absolute(), request.Offset, length)
	if err != nil {
		return err
	}
	defer content.Close()
	if content.Size >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(content.Size, 10))
	}
	return content.CopyTo(w)
}
