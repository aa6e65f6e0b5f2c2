package fileops

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func pack(t *testing.T, path string) []byte {
	t.Helper()
	tree, err := OpenTree(path)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	var packed bytes.Buffer
	if err := tree.Pack(context.Background(), &packed); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// archiveOf packs entries; one of Size has that many bytes.
func archiveOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	for _, header := range headers {
		if err := out.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		out.Write(bytes.Repeat([]byte("x"), int(header.Size)))
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func entry(kind byte, name, target string) tar.Header {
	header := tar.Header{Typeflag: kind, Name: name, Linkname: target, Mode: 0o644, Uid: os.Getuid(), Gid: os.Getgid()}
	if kind == tar.TypeReg {
		header.Size = 5
	}
	if kind == tar.TypeDir {
		header.Mode = 0o755
	}
	return header
}

// describe tells everything of a tree that an archive is to keep.
func describe(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	inodes := map[uint64]string{}
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		name, _ := filepath.Rel(root, path)
		fmt.Fprintf(&out, "%s %v %d:%d %d", name, info.Mode(), stat.Uid, stat.Gid, info.ModTime().UnixNano())
		switch {
		case info.Mode().IsRegular():
			content, _ := os.ReadFile(path)
			fmt.Fprintf(&out, " %q", content)
			if first := inodes[stat.Ino]; first != "" {
				fmt.Fprintf(&out, " is %s", first)
			}
			inodes[stat.Ino] = name
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			fmt.Fprintf(&out, " -> %s", target)
		}
		out.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// fill makes one of each kind, and names and times that need PAX.
func fill(t *testing.T, root string) {
	t.Helper()
	long := strings.Repeat("long name ü ", 15)
	for _, directory := range []string{"sub/empty", "sub/" + long + "/" + long, "closed"} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, root+"/plain", "content\n")
	mustWrite(t, root+"/empty", "")
	mustWrite(t, root+"/sub/"+long+"/"+long+"/f", strings.Repeat("0123456789abcdef", 40_000))
	mustWrite(t, root+"/set", "#!/bin/sh\n")
	mustWrite(t, root+"/closed/in", "in")
	for _, err := range []error{
		os.Chmod(root+"/set", os.ModeSetuid|os.ModeSetgid|0o751),
		os.Chmod(root+"/sub/empty", os.ModeSticky|0o777),
		os.Chmod(root+"/closed", 0o500),
		os.Link(root+"/plain", root+"/sub/hard"),
		os.Link(root+"/plain", root+"/sub/hard2"),
		os.Symlink("../plain", root+"/sub/soft"),
		os.Symlink("/no/such", root+"/dangling"),
		unix.Mkfifo(root+"/fifo", 0o620),
		os.Chtimes(root+"/plain", time.Now(), time.Unix(1_000_000_000, 123_456_789)),
		os.Chtimes(root+"/sub/empty", time.Now(), time.Unix(-5, 0)),
		os.Chtimes(root+"/sub", time.Now(), time.Unix(1_234_567_890, 5)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(root+"/closed", 0o700) })
}

func TestATreeComesOutAsItWentIn(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()+"/made/anew"
	fill(t, from)
	if os.Getuid() == 0 {
		os.Lchown(from+"/dangling", 7, 8)
		os.Chown(from+"/plain", 3_000_000, 12)
	}
	socket, err := net.Listen("unix", from+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	os.Chtimes(from, time.Now(), time.Unix(1_500_000_000, 0))
	packed := pack(t, from)
	// The socket is left out, and the directory's own time changed when it was made.
	if err := Unpack(to, bytes.NewReader(packed)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(to+"/closed", 0o700)
	os.Remove(from + "/socket")
	os.Chtimes(from, time.Now(), time.Unix(1_500_000_000, 0))
	want := describe(t, from)
	if got := describe(t, to); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if len(want) < 500 || !strings.Contains(want, "is plain") {
		t.Errorf("the tree holds too little:\n%s", want)
	}
}

func TestPackASingleFile(t *testing.T) {
	directory := t.TempDir()
	mustWrite(t, directory+"/f", "single")
	os.Symlink("f", directory+"/link")
	for name, want := range map[string]string{"f": "./f", "link": "./link"} {
		reader := tar.NewReader(bytes.NewReader(pack(t, directory+"/"+name)))
		header, err := reader.Next()
		if err != nil || header.Name != want || header.Typeflag != tar.TypeReg {
			t.Fatalf("%v %v", header, err)
		}
		if content, _ := io.ReadAll(reader); string(content) != "single" {
			t.Errorf("%q", content)
		}
		if _, err := reader.Next(); err != io.EOF {
			t.Errorf("a second entry: %v", err)
		}
	}
}

func TestWhatCannotBePacked(t *testing.T) {
	for path, want := range map[string]error{"/dev/null": unix.EINVAL, "/no/such": unix.ENOENT} {
		if _, err := OpenTree(path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPackLeavesOutWhatTheKernelMakesUp(t *testing.T) {
	tree, err := OpenTree("/")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	tree.directory.names = []string{"proc"}
	var packed bytes.Buffer
	if err := tree.Pack(context.Background(), &packed); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > 8192 {
		t.Errorf("%d bytes of /proc", packed.Len())
	}
}

func TestAPackThatIsGivenUpEnds(t *testing.T) {
	directory := t.TempDir()
	mustWrite(t, directory+"/f", "x")
	tree, err := OpenTree(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tree.Pack(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// shrinking cuts a file short as soon as its size was told.
type shrinking struct{ path string }

func (s shrinking) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("./"+filepath.Base(s.path)+"\x00")) {
		return len(p), os.Truncate(s.path, 1)
	}
	return len(p), nil
}

func TestAFileThatShrinksIsNotPackedAsWhole(t *testing.T) {
	directory := t.TempDir()
	path := mustWrite(t, directory+"/f", strings.Repeat("x", 100_000))
	tree, err := OpenTree(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if err := tree.Pack(context.Background(), shrinking{path}); err == nil || !strings.Contains(err.Error(), "lost 99999 bytes") {
		t.Errorf("%v", err)
	}
}
