package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// guest is who is on a tap: a MAC, an IPv4 address, and what becomes of its packets to the outside.
type guest struct {
	Tap     string     `json:"tap"`
	MAC     mac        `json:"mac"`
	Address netip.Addr `json:"address"`
	// Policy is "accept", "drop", or the name of a chain.
	Policy string `json:"policy"`
	// Was is the policy in force that another takes the place of; empty when there is none.
	Was string `json:"was"`
}

type mac net.HardwareAddr

func (m *mac) UnmarshalJSON(text []byte) error {
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	parsed, err := net.ParseMAC(written)
	if err == nil && len(parsed) != 6 {
		err = fmt.Errorf("%q is not an Ethernet address", written)
	}
	*m = mac(parsed)
	return err
}

// host is the network of one bridge, and of the two tables that are named after it.
type host struct {
	bridge string
	links  *netlink.Handle
}

func openHost(bridge string) (*host, error) {
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, err
	}
	return &host{bridge: bridge, links: links}, nil
}

// open tells the bridge and the host where guests are, and then lets them through.
func (h *host) open(guests []guest) error {
	if err := h.place(guests); err != nil {
		return err
	}
	return h.admit(guests)
}

// close goes on past what is not there, and to the end: whoever has a tap or an address next meets nothing of the last.
func (h *host) close(guests []guest) error {
	if err := h.dismiss(guests); err != nil {
		return err
	}
	if err := h.displace(guests); err != nil {
		return err
	}
	return h.forget(guests)
}
