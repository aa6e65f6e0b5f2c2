package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
)

const (
	// networkCard is the guest's only card: the kernel names it, as no device manager runs before the agent.
	networkCard = "eth0"

	resolverFile   = "/etc/resolv.conf"
	ethernetLength = 6
)

// cardSwitches are turned on for the card. The guests' network is IPv4 alone: with an IPv6 address of the card programs would
// try that first. And a card's first address, when it is taken away, would take the others of its network along.
var cardSwitches = []string{
	"/proc/sys/net/ipv6/conf/" + networkCard + "/disable_ipv6",
	"/proc/sys/net/ipv4/conf/" + networkCard + "/promote_secondaries",
}

// Network is who the guest is on its network. The gateway is its default route and its name server.
type Network struct {
	mac     net.HardwareAddr
	address netip.Prefix
	gateway netip.Addr
}

// ParseNetwork reads an Ethernet address, an IPv4 address with its network's prefix length ("10.0.0.2/16"), and a gateway in
// that network.
func ParseNetwork(mac, address, gateway string) (Network, error) {
	card, err := net.ParseMAC(mac)
	if err != nil || len(card) != ethernetLength {
		return Network{}, fmt.Errorf("mac: %q is not an Ethernet address", mac)
	}
	own, err := netip.ParsePrefix(address)
	if err != nil || !own.Addr().Is4() {
		return Network{}, fmt.Errorf("address: %q is not an IPv4 address with a prefix length", address)
	}
	via, err := netip.ParseAddr(gateway)
	if err != nil || !own.Contains(via) || via == own.Addr() {
		return Network{}, fmt.Errorf("gateway: %q is not another IPv4 address of %s", gateway, own.Masked())
	}
	return Network{card, own, via}, nil
}

// SetNetwork makes the card, its only IPv4 address, the default route and the resolver what the network says. The card stays
// up throughout: taken down it drops what programs have open on it, and a guest restored from a snapshot has such programs.
func SetNetwork(n Network) error {
	card, err := netlink.LinkByName(networkCard)
	if err != nil {
		return fmt.Errorf("%s: %w", networkCard, err)
	}
	if card.Attrs().HardwareAddr.String() != n.mac.String() {
		if err := netlink.LinkSetHardwareAddr(card, n.mac); err != nil {
			return fmt.Errorf("%s: address %s: %w", networkCard, n.mac, err)
		}
	}
	for _, path := range cardSwitches {
		// A kernel without IPv6 has no such switch.
		if err := os.WriteFile(path, []byte("1\n"), 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := n.setAddress(card); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(card); err != nil {
		return fmt.Errorf("%s: up: %w", networkCard, err)
	}
	route := netlink.Route{LinkIndex: card.Attrs().Index, Gw: n.gateway.AsSlice()}
	if err := netlink.RouteReplace(&route); err != nil {
		return fmt.Errorf("default route via %s: %w", n.gateway, err)
	}
	return replaceFile(resolverFile, "nameserver "+n.gateway.String()+"\n", 0o644)
}

// setAddress adds the card's address before it takes the others away, so that routes through the network stay.
func (n Network) setAddress(card netlink.Link) error {
	own := net.IPNet{IP: n.address.Addr().AsSlice(), Mask: net.CIDRMask(n.address.Bits(), 32)}
	if err := netlink.AddrReplace(card, &netlink.Addr{IPNet: &own}); err != nil {
		return fmt.Errorf("%s: address %s: %w", networkCard, n.address, err)
	}
	addresses, err := netlink.AddrList(card, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("%s: addresses: %w", networkCard, err)
	}
	for _, address := range addresses {
		if address.IPNet.String() == own.String() {
			continue
		}
		if err := netlink.AddrDel(card, &address); err != nil {
			return fmt.Errorf("%s: address %s: %w", networkCard, address.IPNet, err)
		}
	}
	return nil
}
