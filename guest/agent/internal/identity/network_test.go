package identity

import "testing"

func TestParseNetwork(t *testing.T) {
	const mac, address, gateway = "02:00:0a:d5:00:02", "10.213.0.2/16", "10.213.0.1"
	if _, err := ParseNetwork(mac, address, gateway); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"", address, gateway},
		{"02:00:0a:d5:00", address, gateway},
		{"02:00:5e:10:00:00:00:01", address, gateway},
		{mac, "10.213.0.2", gateway},
		{mac, "10.213.0.2/33", gateway},
		{mac, "fd00::2/64", "fd00::1"},
		{mac, address, ""},
		{mac, address, "10.214.0.1"},
		{mac, address, "10.213.0.2"},
	} {
		if _, err := ParseNetwork(c[0], c[1], c[2]); err == nil {
			t.Errorf("%q passes", c)
		}
	}
}
