package fileops

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Entry is what a directory holds under one name. A link is told as a link.
type Entry struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	IsDir     bool   `json:"is_dir"`
	IsSymlink bool   `json:"is_symlink"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// Mode is the 12 permission bits.
	Mode uint32 `json:"mode"`
	// ModifiedAt is in seconds since 1970.
	ModifiedAt int64 `json:"mtime_unix"`
}

// Directory is a directory whose names were read.
type Directory struct {
	file  *os.File
	names []string
}

// OpenDirectory reads the names of a directory. ENOTDIR: it is none.
func OpenDirectory(path string) (*Directory, error) {
	opened, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	directory, err := namesOf(opened)
	if err != nil {
		opened.Close()
	}
	return directory, err
}

func namesOf(opened *os.File) (*Directory, error) {
	names, err := opened.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return &Directory{opened, names}, nil
}

// Each yields the entries in the byte order of their names, one at a time: a directory may hold millions. A name that is gone
// meanwhile is left out.
func (d *Directory) Each(yield func(Entry) bool) {
	for _, name := range d.names {
		stat, err := d.stat(name)
		if err == nil && !yield(entryOf(name, &stat)) {
			return
		}
	}
}

// stat looks at one name and follows no link.
func (d *Directory) stat(name string) (stat unix.Stat_t, err error) {
	err = unix.Fstatat(int(d.file.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return stat, err
}

// Close closes the directory.
func (d *Directory) Close() error { return d.file.Close() }

var typeNames = map[uint32]string{
	unix.S_IFREG:  "file",
	unix.S_IFDIR:  "dir",
	unix.S_IFLNK:  "symlink",
	unix.S_IFIFO:  "fifo",
	unix.S_IFSOCK: "socket",
	unix.S_IFBLK:  "block",
	unix.S_IFCHR:  "char",
}

func entryOf(name string, stat *unix.Stat_t) Entry {
	format := stat.Mode & unix.S_IFMT
	return Entry{
		Name:       name,
		Type:       typeNames[format],
		IsDir:      format == unix.S_IFDIR,
		IsSymlink:  format == unix.S_IFLNK,
		Size:       stat.Size,
		Mode:       stat.Mode & 0o7777,
		ModifiedAt: stat.Mtim.Sec,
	}
}
