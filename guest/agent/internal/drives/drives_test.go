package drives

import "testing"

func TestCheck(t *testing.T) {
	good := Drive{ID: "a", Serial: "b", Label: "c"}
	if err := Check([]Drive{good, good}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "a\x00"} {
		for _, bad := range []Drive{{name, "b", "c", false}, {"a", name, "c", false}, {"a", "b", name, true}} {
			if Check([]Drive{good, bad}) == nil {
				t.Errorf("Check accepts %+v", bad)
			}
		}
	}
}

func TestUnknownSerialIsRefused(t *testing.T) {
	if err := Mount([]Drive{{ID: "a", Serial: "no-such-serial", Label: "c"}}); err == nil {
		t.Error("Mount accepts a disk that is not there")
	}
}
