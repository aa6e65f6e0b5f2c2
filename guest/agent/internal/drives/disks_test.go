package drives

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestDevicesBySerial(t *testing.T) {
	blocks := t.TempDir()
	for name, page := range map[string]string{
		"sda": "\x00\x80\x00\x043c4d",
		"sdb": "\x00\x80\x00\x041a2bxx",
		"sdc": "\x00\x80\x00\x09cut",
		"sdd": "\x00\x80\x00\x00",
		"sde": "\x00",
	} {
		device := filepath.Join(blocks, name, "device")
		if err := os.MkdirAll(device, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(device, "vpd_pg80"), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(blocks, "vda", "device"), 0o755); err != nil {
		t.Fatal(err)
	}
	devices, err := devicesBySerial(blocks)
	want := map[string]string{"3c4d": "/dev/sda", "1a2b": "/dev/sdb", "cut": "/dev/sdc"}
	if err != nil || !maps.Equal(devices, want) {
		t.Errorf("devicesBySerial = %v, %v, want %v", devices, err, want)
	}
}
