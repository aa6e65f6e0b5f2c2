package drives

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestDevicesBySerial(t *testing.T) {
	classes := t.TempDir()
	for name, serial := range map[string]string{"vda": "", "vdb": "1a2b\n", "vdc": "3c4d"} {
		if err := os.Mkdir(filepath.Join(classes, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(classes, name, "serial"), []byte(serial), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(classes, "loop0"), 0o755); err != nil {
		t.Fatal(err)
	}
	devices, err := devicesBySerial(classes)
	want := map[string]string{"1a2b": "/dev/vdb", "3c4d": "/dev/vdc"}
	if err != nil || !maps.Equal(devices, want) {
		t.Errorf("devicesBySerial = %v, %v, want %v", devices, err, want)
	}
}

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
