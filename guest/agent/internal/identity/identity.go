// Package identity sets what makes one guest differ from its clones: name, machine id, clock and entropy.
package identity

import (
	"os"
	"path/filepath"
)

// replaceFile puts a new file in the old one's place in one step, and makes its directory where that is missing.
func replaceFile(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	draft := path + ".atoll"
	os.Remove(draft)
	if err := os.WriteFile(draft, []byte(content), mode); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		os.Remove(draft)
		return err
	}
	return nil
}
