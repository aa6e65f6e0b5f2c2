package account

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// MayEnter tells whether the account may make an existing directory its working directory, going by the permission bits of
// the directory and of all above it.
func (a Account) MayEnter(directory string) bool {
	resolved, err := filepath.EvalSymlinks(directory)
	if err != nil || a.UID == 0 {
		return err == nil
	}
	for {
		var stat unix.Stat_t
		if unix.Stat(resolved, &stat) != nil || !a.maySearch(&stat) {
			return false
		}
		if resolved == "/" {
			return true
		}
		resolved = filepath.Dir(resolved)
	}
}

// maySearch goes by the first class that fits, as the kernel does.
func (a Account) maySearch(stat *unix.Stat_t) bool {
	switch {
	case stat.Uid == a.UID:
		return stat.Mode&0o100 != 0
	case stat.Gid == a.GID || slices.Contains(a.Groups, stat.Gid):
		return stat.Mode&0o010 != 0
	}
	return stat.Mode&0o001 != 0
}
