package api

import (
	"context"
	"net/http"

	"atoll/guest/agent/internal/drives"
)

type driveRequest struct {
	ID       string `json:"id"`
	Serial   string `json:"serial"`
	Label    string `json:"label"`
	ReadOnly bool   `json:"read_only"`
}

type mountDrivesRequest struct {
	Drives []driveRequest `json:"drives"`
}

func mountDrives(_ context.Context, request mountDrivesRequest) error {
	wanted := make([]drives.Drive, len(request.Drives))
	for i, drive := range request.Drives {
		wanted[i] = drives.Drive(drive)
	}
	if err := drives.Check(wanted); err != nil {
		return requestError{err}
	}
	return drives.Mount(wanted)
}

func freezeDrives(w http.ResponseWriter, _ *http.Request) error {
	if err := drives.Freeze(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
