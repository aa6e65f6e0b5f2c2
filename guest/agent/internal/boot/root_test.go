package boot

import "testing"

func TestRootDevice(t *testing.T) {
	cases := map[string]string{
		"":                                  "/dev/vda",
		"console=ttyS0 quiet\n":             "/dev/vda",
		"root=/dev/vdb rw":                  "/dev/vdb",
		"root=/dev/vda root=/dev/vdc quiet": "/dev/vdc",
		"root= quiet":                       "/dev/vda",
		"xroot=/dev/vdb":                    "/dev/vda",
	}
	for line, want := range cases {
		if got := rootDevice(line); got != want {
			t.Errorf("rootDevice(%q) = %q, want %q", line, got, want)
		}
	}
}
