package api

import (
	"bufio"
	"encoding/json"
	"net/http"

	"atoll/guest/agent/internal/fileops"
)

type listRequest struct {
	Path guestPath `json:"path"`
}

// listDirectory writes the entries as it goes, since a directory may hold millions.
func listDirectory(w http.ResponseWriter, r *http.Request) error {
	request, err := readJSON[listRequest](w, r)
	if err != nil {
		return err
	}
	if err := required(request.Path); err != nil {
		return err
	}
	directory, err := fileops.OpenDirectory(request.Path.absolute())
	if err != nil {
		return err
	}
	defer directory.Close()
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	out.WriteString(`{"entries":[`)
	separator := ""
	for entry := range directory.Each {
		text, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		out.WriteString(separator)
		if _, err := out.Write(text); err != nil {
			return err
		}
		separator = ","
	}
	out.WriteString("]}")
	return out.Flush()
}
