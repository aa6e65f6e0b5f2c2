package fileops

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func mustWrite(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(path string, offset, length int64) (string, int64, error) {
	content, err := OpenContent(path, offset, length)
	if err != nil {
		return "", 0, err
	}
	defer content.Close()
	var got bytes.Buffer
	err = content.CopyTo(&got)
	return got.String(), content.Size, err
}

func TestRead(t *testing.T) {
	small := mustWrite(t, t.TempDir()+"/small", "0123456789")
	large := mustWrite(t, t.TempDir()+"/large", strings.Repeat("abcdefgh", 100_000))
	cases := []struct {
		path           string
		offset, length int64
		want           string
	}{
		{small, 0, -1, "0123456789"},
		{small, 3, -1, "3456789"},
		{small, 3, 4, "3456"},
		{small, 0, 0, ""},
		{small, 8, 100, "89"},
		{small, 10, -1, ""},
		{small, 1 << 40, 5, ""},
		{large, 0, -1, strings.Repeat("abcdefgh", 100_000)},
		{large, 799_992, -1, "abcdefgh"},
		{large, 8, 400_000, strings.Repeat("abcdefgh", 50_000)},
	}
	for _, c := range cases {
		got, size, err := read(c.path, c.offset, c.length)
		if err != nil || got != c.want || size != int64(len(c.want)) {
			t.Errorf("%s from %d, %d bytes: got %d bytes of %d, %v", c.path, c.offset, c.length, len(got), size, err)
		}
	}
}

func TestReadOfUnknownSize(t *testing.T) {
	got, size, err := read("/proc/version", 0, -1)
	if err != nil || size != -1 || !strings.HasPrefix(got, "Linux") {
		t.Errorf("/proc/version: %q, %d, %v", got, size, err)
	}
	if got, _, err := read("/proc/version", 2, 3); err != nil || got != "nux" {
		t.Errorf("part of /proc/version: %q, %v", got, err)
	}
	got, size, err = read("/sys/kernel/mm/transparent_hugepage/enabled", 0, -1)
	if err == nil && int64(len(got)) != size {
		t.Errorf("a file of /sys: %d bytes of %d", len(got), size)
	}
}

func TestReadOfAFileThatGrowsOrShrinks(t *testing.T) {
	path := mustWrite(t, t.TempDir()+"/f", strings.Repeat("x", 100_000))
	for _, size := range []int64{150_000, 50_000} {
		content, err := OpenContent(path, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		told := content.Size
		os.Truncate(path, size)
		var got bytes.Buffer
		content.CopyTo(&got)
		content.Close()
		if int64(got.Len()) != min(told, size) {
			t.Errorf("told %d, now %d: got %d", told, size, got.Len())
		}
	}
}

func TestRefusals(t *testing.T) {
	directory := t.TempDir()
	fifo := directory + "/fifo"
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]syscall.Errno{
		directory: syscall.EISDIR, fifo: syscall.EINVAL, "/dev/zero": syscall.EINVAL,
		directory + "/none": syscall.ENOENT, "/etc/passwd/x": syscall.ENOTDIR,
	} {
		if _, _, err := read(path, 0, -1); !errors.Is(err, want) {
			t.Errorf("read %s: %v", path, err)
		}
		if want == syscall.ENOENT {
			path += "/x"
		}
		if err := Write(path, 0o644, strings.NewReader("x")); !errors.Is(err, want) {
			t.Errorf("write %s: %v", path, err)
		}
	}
}

func TestWrite(t *testing.T) {
	path := t.TempDir() + "/f"
	for _, content := range []string{strings.Repeat("long", 200_000), "short", ""} {
		if err := Write(path, 0o6777, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(path)
		if string(got) != content {
			t.Errorf("%d bytes, want %d", len(got), len(content))
		}
	}
	if mode := modeOf(t, path); mode != 0o6777 {
		t.Errorf("mode %o", mode)
	}
	os.Chmod(path, 0o600)
	Write(path, 0o644, strings.NewReader("x"))
	if mode := modeOf(t, path); mode != 0o600 {
		t.Errorf("an existing file got mode %o", mode)
	}
}

func TestWriteThroughALink(t *testing.T) {
	directory := t.TempDir()
	os.Symlink("target", directory+"/link")
	if err := Write(directory+"/link", 0o640, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(directory + "/target"); string(got) != "x" {
		t.Errorf("%q", got)
	}
}

func modeOf(t *testing.T, path string) uint32 {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Mode & 0o7777
}

func TestChanges(t *testing.T) {
	directory := t.TempDir()
	file := mustWrite(t, directory+"/f", "content")
	steps := []struct {
		name string
		err  error
		want error
	}{
		{"chmod", Chmod(file, 0o4711), nil},
		{"chmod of nothing", Chmod(directory+"/none", 0), syscall.ENOENT},
		{"mkdir", Mkdir(directory+"/d", false), nil},
		{"mkdir again", Mkdir(directory+"/d", false), syscall.EEXIST},
		{"mkdir without parents", Mkdir(directory+"/a/b/c", false), syscall.ENOENT},
		{"mkdir with parents", Mkdir(directory+"/a/b/c", true), nil},
		{"mkdir with parents again", Mkdir(directory+"/a/b/c", true), nil},
		{"mkdir over a file", Mkdir(file, true), syscall.ENOTDIR},
		{"symlink", Symlink("f", directory+"/l"), nil},
		{"symlink again", Symlink("g", directory+"/l"), syscall.EEXIST},
		{"truncate", Truncate(file, 3), nil},
		{"truncate a directory", Truncate(directory, 3), syscall.EISDIR},
		{"rename", Rename(file, directory+"/g"), nil},
		{"rename onto a directory", Rename(directory+"/g", directory+"/d"), syscall.EISDIR},
		{"rename of nothing", Rename(file, directory+"/h"), syscall.ENOENT},
	}
	for _, step := range steps {
		if !errors.Is(step.err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, step.err, step.want)
		}
	}
	if got, _ := os.ReadFile(directory + "/g"); string(got) != "con" || modeOf(t, directory+"/g") != 0o4711 {
		t.Errorf("%q, mode %o", got, modeOf(t, directory+"/g"))
	}
	if target, err := Readlink(directory + "/l"); target != "f" || err != nil {
		t.Errorf("%q, %v", target, err)
	}
	if _, err := Readlink(directory + "/g"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("readlink of a file: %v", err)
	}
}

func TestList(t *testing.T) {
	directory := t.TempDir()
	mustWrite(t, directory+"/b", "12345")
	os.Chmod(directory+"/b", 0o640)
	os.Chtimes(directory+"/b", time.Unix(1, 0), time.Unix(1700000000, 0))
	os.Mkdir(directory+"/a", 0o755)
	os.Symlink("/no/where", directory+"/B")
	unix.Mkfifo(directory+"/p", 0o600)
	os.WriteFile(directory+"/\xff", nil, 0o644)
	opened, err := OpenDirectory(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	opened.names = append(opened.names, "vanished")
	var names, types []string
	for entry := range opened.Each {
		names, types = append(names, entry.Name), append(types, entry.Type)
		if entry.Name == "b" && entry != (Entry{"b", "file", false, false, 5, 0o640, 1700000000}) {
			t.Errorf("%+v", entry)
		}
	}
	if !reflect.DeepEqual(names, []string{"B", "a", "b", "p", "\xff"}) {
		t.Errorf("%q", names)
	}
	if !reflect.DeepEqual(types, []string{"symlink", "dir", "file", "fifo", "file"}) {
		t.Errorf("%q", types)
	}
	if _, err := OpenDirectory(directory + "/b"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file: %v", err)
	}
	if _, err := OpenDirectory(directory + "/p"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a fifo: %v", err)
	}
}

func TestAbsolute(t *testing.T) {
	for path, want := range map[string]string{"": "/", "a/../b": "/a/../b", "/x": "/x"} {
		if got := Absolute(path); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
}

func copyOf(from, to string) error { return Copy(context.Background(), from, to) }

func TestCopyTree(t *testing.T) {
	directory := t.TempDir()
	from, to := directory+"/from", directory+"/to"
	os.MkdirAll(from+"/sub", 0o755)
	mustWrite(t, from+"/sub/f", strings.Repeat("data", 100_000))
	os.Chmod(from+"/sub/f", 0o4755)
	os.Chmod(from+"/sub", 0o500)
	os.Symlink("../outside", from+"/link")
	unix.Mkfifo(from+"/fifo", 0o620)
	if os.Getuid() == 0 {
		os.Chown(from+"/sub/f", 12, 34)
		os.Chmod(from+"/sub/f", 0o4755)
	}
	if err := copyOf(from, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "sub", "sub/f", "link", "fifo"} {
		var a, b unix.Stat_t
		unix.Lstat(filepath.Join(from, name), &a)
		unix.Lstat(filepath.Join(to, name), &b)
		if a.Mode != b.Mode || a.Uid != b.Uid || a.Gid != b.Gid {
			t.Errorf("%q: mode %o, owner %d:%d; want %o, %d:%d", name, b.Mode, b.Uid, b.Gid, a.Mode, a.Uid, a.Gid)
		}
	}
	if got, _ := os.ReadFile(to + "/sub/f"); string(got) != strings.Repeat("data", 100_000) {
		t.Errorf("%d bytes", len(got))
	}
	if target, _ := os.Readlink(to + "/link"); target != "../outside" {
		t.Errorf("link to %q", target)
	}
	os.Chmod(from+"/sub", 0o700)
	os.Chmod(to+"/sub", 0o700)
}

func TestCopyRefusals(t *testing.T) {
	directory := t.TempDir()
	tree, file := directory+"/tree", mustWrite(t, directory+"/file", "x")
	os.MkdirAll(tree+"/sub", 0o755)
	os.Mkdir(directory+"/other", 0o755)
	os.Symlink("file", directory+"/alias")
	os.Symlink("tree", directory+"/treealias")
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{directory + "/none", directory + "/new", syscall.ENOENT},
		{file, directory + "/other", syscall.EISDIR},
		{tree, directory + "/other", syscall.EEXIST},
		{tree, file, syscall.EEXIST},
		{tree, tree, syscall.EINVAL},
		{tree, tree + "/sub/new", syscall.EINVAL},
		{tree, tree + "/new/", syscall.EINVAL},
		{tree, directory + "/treealias/new", syscall.EINVAL},
		{file, file, syscall.EINVAL},
		{file, directory + "/alias", syscall.EINVAL},
		{file, directory + "/no/parent", syscall.ENOENT},
		{directory + "/treealias", directory + "/alias", syscall.EEXIST},
	} {
		if err := copyOf(c.from, c.to); !errors.Is(err, c.want) {
			t.Errorf("%s to %s: %v, want %v", c.from, c.to, err, c.want)
		}
	}
	if got, _ := os.ReadFile(file); string(got) != "x" {
		t.Errorf("the file now holds %q", got)
	}
	if err := copyOf(tree, directory+"/tree2"); err != nil {
		t.Errorf("a name that only begins like the source: %v", err)
	}
}

func TestCopyReplacesAFile(t *testing.T) {
	directory := t.TempDir()
	from, to := mustWrite(t, directory+"/from", "new"), mustWrite(t, directory+"/to", "old and longer")
	os.Chmod(from, 0o751)
	if err := copyOf(from, to); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(to); string(got) != "new" || modeOf(t, to) != 0o751 {
		t.Errorf("%q, mode %o", got, modeOf(t, to))
	}
	if err := copyOf("/proc/version", directory+"/version"); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(directory + "/version"); !strings.HasPrefix(string(got), "Linux") {
		t.Errorf("%q", got)
	}
}

func TestCopyKeepsHoles(t *testing.T) {
	directory := t.TempDir()
	from, to := directory+"/from", directory+"/to"
	file, _ := os.Create(from)
	file.WriteAt([]byte("middle"), 50<<20)
	file.Truncate(100 << 20)
	file.Close()
	if err := copyOf(from, to); err != nil {
		t.Fatal(err)
	}
	var stat unix.Stat_t
	unix.Stat(to, &stat)
	if stat.Size != 100<<20 || stat.Blocks*512 > 1<<20 {
		t.Errorf("size %d, on disk %d", stat.Size, stat.Blocks*512)
	}
	got, _, err := read(to, 50<<20, 6)
	if got != "middle" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCopyStops(t *testing.T) {
	directory := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Copy(ctx, mustWrite(t, directory+"/f", "x"), directory+"/g"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
