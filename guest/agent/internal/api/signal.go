package api

import (
	"context"
	"strings"

	"golang.org/x/sys/unix"
)

// signalRequest names a command by its process id, and a signal by its name, with or without SIG.
type signalRequest struct {
	PID    int    `json:"pid"`
	Signal string `json:"signal"`
}

// signal reaches the process group of a command that the agent runs. ESRCH: it has ended.
func (s *Server) signal(_ context.Context, request signalRequest) error {
	number := unix.SignalNum("SIG" + strings.TrimPrefix(request.Signal, "SIG"))
	if number == 0 {
		return malformed("signal: no such signal")
	}
	command := s.reaper.Find(request.PID)
	if command == nil {
		return unix.ESRCH
	}
	return command.SignalGroup(number)
}
