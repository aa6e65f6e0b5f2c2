package api

import (
	"bufio"
	"errors"
	"net/http"

	"atoll/guest/agent/internal/fileops"
)

type packRequest struct {
	Path guestPath `json:"path"`
}

func packFiles(w http.ResponseWriter, r *http.Request) error {
	request, err := readJSON[packRequest](w, r)
	if err != nil {
		return err
	}
	if err := required(request.Path); err != nil {
		return err
	}
	tree, err := fileops.OpenTree(request.Path.absolute())
	if err != nil {
		return err
	}
	defer tree.Close()
	w.Header().Set("Content-Type", "application/x-tar")
	// What goes wrong before this is full is still told as what it is.
	out := bufio.NewWriterSize(w, 64<<10)
	if err := tree.Pack(r.Context(), out); err != nil {
		return err
	}
	return out.Flush()
}

func unpackFiles(w http.ResponseWriter, r *http.Request) error {
	path := guestPath(r.URL.Query().Get("path"))
	if err := required(path); err != nil {
		return err
	}
	err := fileops.Unpack(path.absolute(), r.Body)
	var archive *fileops.ArchiveError
	if errors.As(err, &archive) {
		return requestError{err}
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
