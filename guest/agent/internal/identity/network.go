package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
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

// card is the guest's network card, for as long as the agent runs.
type card struct {
	// netlink keeps its socket open: under emulation one for each request takes as long as the requests.
	netlink *netlink.Handle
	index   int
	// mac is the address it was given last.
	mac net.HardwareAddr
}

// findCard opens the card, once, and turns its switches on.
var findCard = sync.OnceValues(func() (*card, error) {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	link, err := handle.LinkByName(networkCard)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", networkCard, err)
	}
	for _, path := range cardSwitches {
		// A kernel without IPv6 has no such switch.
		if err := os.WriteFile(path, []byte("1\n"), 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return &card{handle, link.Attrs().Index, link.Attrs().HardwareAddr}, nil
})

// SetNetwork makes the card, its only IPv4 address and the default route what the network says. The card stays up throughout: taken
// down it drops what programs have open on it, and a guest restored from a snapshot has such programs.
func SetNetwork(n Network) error {
	card, err := findCard()
	if err != nil {
		return err
	}
	if err := card.become(n); err != nil {
		return fmt.Errorf("%s: %w", networkCard, err)
	}
	return nil
}

// WriteResolver makes the network's gateway the name server.
func WriteResolver(n Network) error {
	return writeFile(resolverFile, "nameserver "+n.gateway.String()+"\n", 0o644)
}

func (c *card) become(n Network) error {
	link := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: c.index}}
	if !bytes.Equal(c.mac, n.mac) {
		if err := c.netlink.LinkSetHardwareAddr(link, n.mac); err != nil {
			return fmt.Errorf("address %s: %w", n.mac, err)
		}
		c.mac = n.mac
	}
	if err := c.setAddress(link, n.address); err != nil {
		return err
	}
	if err := c.netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	route := netlink.Route{LinkIndex: c.index, Gw: n.gateway.AsSlice()}
	if err := c.netlink.RouteReplace(&route); err != nil {
		return fmt.Errorf("default route via %s: %w", n.gateway, err)
	}
	return nil
}

// setAddress adds the card's address before it takes the others away, so that routes through the network stay.
func (c *card) setAddress(link netlink.Link, address netip.Prefix) error {
	own := net.IPNet{IP: address.Addr().AsSlice(), Mask: net.CIDRMask(address.Bits(), 32)}
	if err := c.netlink.AddrReplace(link, &netlink.Addr{IPNet: &own}); err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	others, err := c.netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("addresses: %w", err)
	}
	for _, other := range others {
		if other.IPNet.String() == own.String() {
			continue
		}
		if err := c.netlink.AddrDel(link, &other); err != nil {
			return fmt.Errorf("address %s: %w", other.IPNet, err)
		}
	}
	return nil
}
