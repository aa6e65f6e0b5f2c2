package api

import (
	"net/http"
	"strconv"

	"atoll/guest/agent/internal/fileops"
)

func writeFile(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	path, mode := guestPath(query.Get("path")), uint64(0o644)
	if err := required(path); err != nil {
		return err
	}
	if digits := query.Get("mode"); digits != "" {
		var err error
		mode, err = strconv.ParseUint(digits, 8, 32)
		if err != nil || mode > maxMode {
			return malformed("mode is octal digits, at most 7777")
		}
	}
	if err := fileops.Write(path.absolute(), uint32(mode), r.Body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
