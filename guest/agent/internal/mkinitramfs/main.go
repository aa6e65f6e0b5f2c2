// Mkinitramfs writes an initramfs with a program as /init to standard output, and with another beside it if it is given a name and
// that: a cpio archive in the "newc" format. Equal programs give equal archives: owner, times and inode numbers are fixed.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// Types and permissions, as stat(2) has them.
const (
	typeMask  = 0o170000
	directory = 0o040755
	program   = 0o100755
	character = 0o020600
)

// entry is one member of the archive.
type entry struct {
	name         string
	mode         uint32
	major, minor uint32
	content      []byte
}

// layout is the initramfs. The kernel opens /dev/console as standard streams of init before anything is mounted, and the Go
// runtime falls back on /dev/null for a stream that is closed.
func layout(init []byte, more ...entry) []entry {
	entries := []entry{
		{name: "dev", mode: directory},
		{name: "dev/console", mode: character, major: 5, minor: 1},
		{name: "dev/null", mode: character | 0o066, major: 1, minor: 3},
		{name: "proc", mode: directory},
		{name: "sys", mode: directory},
		{name: "newroot", mode: directory},
		{name: "init", mode: program, content: init},
	}
	return append(append(entries, more...), entry{name: "TRAILER!!!"})
}

// write puts out the header of 13 numbers, the name and the content, each padded to 4 bytes.
func (e entry) write(out io.Writer, inode int) {
	links := 1
	if e.mode&typeMask == directory&typeMask {
		links = 2
	}
	fmt.Fprintf(out, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		inode, e.mode, 0, 0, links, 0, len(e.content), 0, 0, e.major, e.minor, len(e.name)+1, 0, e.name)
	pad(out, 110+len(e.name)+1)
	out.Write(e.content)
	pad(out, len(e.content))
}

func pad(out io.Writer, length int) { out.Write(make([]byte, (4-length%4)%4)) }

func run(path string, more ...string) error {
	init, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var others []entry
	if len(more) == 2 {
		content, err := os.ReadFile(more[1])
		if err != nil {
			return err
		}
		others = append(others, entry{name: more[0], mode: program, content: content})
	}
	out := bufio.NewWriter(os.Stdout)
	for i, e := range layout(init, others...) {
		e.write(out, i+1)
	}
	return out.Flush()
}

func main() {
	if len(os.Args) != 2 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mkinitramfs PROGRAM [NAME PROGRAM] >INITRAMFS")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, "mkinitramfs:", err)
		os.Exit(1)
	}
}
