package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// dumpAttempts is how often the table is read when the kernel resizes it meanwhile, which it does seldom.
const dumpAttempts = 5

// between chooses connections by the address of either end: who opened one, and whom it was opened to.
type between func(netip.Addr) bool

// MatchConntrackFlow is what the library asks of a choice.
func (b between) MatchConntrackFlow(flow *netlink.ConntrackFlow) bool {
	return b.is(flow.Forward.SrcIP) || b.is(flow.Forward.DstIP)
}

func (b between) is(end net.IP) bool {
	address, ok := netip.AddrFromSlice(end)
	return ok && b(address.Unmap())
}

// forget makes the kernel forget every connection of guests, and of the host to them. What still arrives would reach whoever has the
// address next.
func (h *host) forget(guests []guest) error {
	gone := make(map[netip.Addr]bool, len(guests))
	for _, g := range guests {
		gone[g.Address] = true
	}
	return h.forgetThose(func(address netip.Addr) bool { return gone[address] })
}

func (h *host) forgetNetwork(network string) error {
	prefix, err := netip.ParsePrefix(network)
	if err != nil {
		return err
	}
	return h.forgetThose(prefix.Contains)
}

func (h *host) forgetThose(choice between) error {
	var err error
	for range dumpAttempts {
		_, err = h.links.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, choice)
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("connections: %w", err)
	}
	return nil
}
