package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// place tells the host which MAC each address has, and the bridge behind which tap that is. Neither asks or learns it from a guest.
func (h *host) place(guests []guest) error {
	bridge, err := h.indexOf(h.bridge)
	if err != nil {
		return err
	}
	for _, g := range guests {
		tap, err := h.indexOf(g.Tap)
		if err != nil {
			return err
		}
		if err := h.links.NeighSet(g.entry(tap)); err != nil {
			return fmt.Errorf("%s on %s: %w", g.Tap, h.bridge, err)
		}
		if err := h.links.NeighSet(g.neighbour(bridge)); err != nil {
			return fmt.Errorf("neighbour %s: %w", g.Address, err)
		}
	}
	return nil
}

// displace takes back what place did, as much of it as was done.
func (h *host) displace(guests []guest) error {
	bridge, err := h.indexOf(h.bridge)
	if err != nil {
		return err
	}
	var failures []error
	for _, g := range guests {
		failures = append(failures, ignoreMissing(h.links.NeighDel(g.neighbour(bridge))))
		tap, err := h.indexOf(g.Tap)
		var gone netlink.LinkNotFoundError
		if errors.As(err, &gone) {
			continue // The bridge has forgotten what was behind it.
		}
		if err == nil {
			err = ignoreMissing(h.links.NeighDel(g.entry(tap)))
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// entry is the bridge's: a static one, which what is heard elsewhere does not move.
func (g guest) entry(tap int) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex:    tap,
		Family:       unix.AF_BRIDGE,
		State:        netlink.NUD_NOARP,
		Flags:        netlink.NTF_MASTER,
		HardwareAddr: net.HardwareAddr(g.MAC),
	}
}

// neighbour is the host's.
func (g guest) neighbour(bridge int) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex:    bridge,
		Family:       unix.AF_INET,
		State:        netlink.NUD_PERMANENT,
		IP:           g.Address.AsSlice(),
		HardwareAddr: net.HardwareAddr(g.MAC),
	}
}

func (h *host) indexOf(name string) (int, error) {
	link, err := h.links.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return link.Attrs().Index, nil
}
