package identity

import (
	"net/netip"
	"strings"
	"testing"
)

// FuzzNames: a name that passes is one line of /etc/hostname and one word of /etc/hosts.
func FuzzNames(f *testing.F) {
	f.Add("box-1.example", "127.0.0.1 localhost\n127.0.1.1\told\n", "0123456789abcdef0123456789abcdef")
	f.Add("-x", "", "0")
	f.Add("a\nb", "\n\n", strings.Repeat("f", 33))
	f.Fuzz(func(t *testing.T, name, hosts, machineID string) {
		if CheckMachineID(machineID) == nil && len(machineID) != 32 {
			t.Errorf("%q is a machine-id", machineID)
		}
		if CheckHostname(name) != nil {
			return
		}
		if len(name) == 0 || len(name) > 64 || strings.ContainsAny(name, " \t\n\x00/") {
			t.Errorf("%q is a host name", name)
		}
		if made := withOwnName(hosts, name); strings.Count(made, ownAddress+"\t"+name+"\n") < 1 {
			t.Errorf("%q is not in %q", name, made)
		}
	})
}

// FuzzNetwork: what passes is a card's address, and a gateway in its network.
func FuzzNetwork(f *testing.F) {
	f.Add("02:00:00:00:00:01", "10.213.0.2/16", "10.213.0.1", "1700000000000000000")
	f.Add("02:00:00:00:00:01", "10.213.0.2/33", "::1", "-1")
	f.Add("", "0.0.0.0/0", "0.0.0.0%x", "1e9")
	f.Fuzz(func(t *testing.T, mac, address, gateway, clock string) {
		ParseClock(clock)
		network, err := ParseNetwork(mac, address, gateway)
		if err != nil {
			return
		}
		if len(network.mac) != 6 || !network.address.Contains(network.gateway) || network.gateway == (netip.Addr{}) {
			t.Errorf("%q %q %q is %v", mac, address, gateway, network)
		}
	})
}
