package drives

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Where the kernel shows its disks. It has found all of them before it starts the agent.
const blocks = "/sys/block"

// devicesBySerial finds the SCSI disks, by their serial numbers: the kernel names disks in the order in which it gets done with
// them, so the name says nothing.
func devicesBySerial(blocks string) (map[string]string, error) {
	disks, err := os.ReadDir(blocks)
	if err != nil {
		return nil, err
	}
	devices := map[string]string{}
	for _, disk := range disks {
		page, err := os.ReadFile(filepath.Join(blocks, disk.Name(), "device", "vpd_pg80"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if serial := serialOf(page); serial != "" {
			devices[serial] = "/dev/" + disk.Name()
		}
	}
	return devices, nil
}

// serialOf reads the page "unit serial number" of a SCSI disk's vital product data: four bytes of header, of which the last two
// are the number's length, and the number (SPC-4, 7.8.18).
func serialOf(page []byte) string {
	const header = 4
	if len(page) < header {
		return ""
	}
	length := int(page[2])<<8 | int(page[3])
	return string(page[header:min(len(page), header+length)])
}
