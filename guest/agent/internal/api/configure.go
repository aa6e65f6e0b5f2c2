package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"atoll/guest/agent/internal/identity"
)

type configureRequest struct {
	Env           *map[string]string `json:"env"`
	Hostname      *string            `json:"hostname"`
	MachineID     *string            `json:"machine_id"`
	ClockUnixNS   *string            `json:"clock_unix_ns"`
	EntropyBase64 *string            `json:"entropy_base64"`
	Network       *networkRequest    `json:"network"`
}

type networkRequest struct {
	MAC     string `json:"mac"`
	Address string `json:"address"`
	Gateway string `json:"gateway"`
}

// Become is configure for a guest that is told who it is before anything is served: see channel.Guest.
func (s *Server) Become(body []byte) error {
	var request configureRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	return s.configure(context.Background(), request)
}

// configure checks the whole request before it applies any of it. The clock comes first, as its value ages. What is about files waits for
// their disk, and goes on beside the kernel's part: that is half of it while a guest boots.
func (s *Server) configure(_ context.Context, request configureRequest) error {
	now, err := request.clock()
	if err != nil {
		return requestError{fmt.Errorf("clock_unix_ns: %w", err)}
	}
	seed, err := request.entropy()
	if err != nil {
		return requestError{fmt.Errorf("entropy_base64: %w", err)}
	}
	network, err := request.network()
	if err != nil {
		return requestError{fmt.Errorf("network: %w", err)}
	}
	if err := request.check(); err != nil {
		return requestError{err}
	}

	kernel := make(chan error, 1)
	go func() { kernel <- request.applyToKernel(now, seed, network) }()
	<-s.rooted
	if request.Env != nil {
		s.environment.replace(*request.Env)
	}
	files := request.applyToFiles(network)
	return cmp.Or(<-kernel, files)
}

func (c configureRequest) applyToKernel(now time.Time, seed []byte, network identity.Network) error {
	if c.ClockUnixNS != nil {
		if err := identity.SetClock(now); err != nil {
			return err
		}
	}
	if len(seed) > 0 {
		if err := identity.AddEntropy(seed); err != nil {
			return err
		}
	}
	if c.Hostname != nil {
		if err := identity.SetHostname(*c.Hostname); err != nil {
			return err
		}
	}
	if c.Network != nil {
		return identity.SetNetwork(network)
	}
	return nil
}

func (c configureRequest) applyToFiles(network identity.Network) error {
	if c.Network != nil {
		if err := identity.WriteResolver(network); err != nil {
			return err
		}
	}
	if c.Hostname != nil {
		if err := identity.WriteHostname(*c.Hostname); err != nil {
			return err
		}
	}
	if c.MachineID != nil {
		return identity.WriteMachineID(*c.MachineID)
	}
	return nil
}

func (c configureRequest) clock() (time.Time, error) {
	if c.ClockUnixNS == nil {
		return time.Time{}, nil
	}
	return identity.ParseClock(*c.ClockUnixNS)
}

func (c configureRequest) entropy() ([]byte, error) {
	if c.EntropyBase64 == nil {
		return nil, nil
	}
	seed, err := base64.StdEncoding.DecodeString(*c.EntropyBase64)
	if err == nil && len(seed) > identity.MaxEntropy {
		err = fmt.Errorf("%d bytes, at most %d", len(seed), identity.MaxEntropy)
	}
	return seed, err
}

func (c configureRequest) network() (identity.Network, error) {
	if c.Network == nil {
		return identity.Network{}, nil
	}
	return identity.ParseNetwork(c.Network.MAC, c.Network.Address, c.Network.Gateway)
}

func (c configureRequest) check() error {
	if c.Hostname != nil {
		if err := identity.CheckHostname(*c.Hostname); err != nil {
			return fmt.Errorf("hostname: %w", err)
		}
	}
	if c.MachineID != nil {
		if err := identity.CheckMachineID(*c.MachineID); err != nil {
			return fmt.Errorf("machine_id: %w", err)
		}
	}
	if c.Env != nil {
		return checkEnvironment(*c.Env)
	}
	return nil
}
