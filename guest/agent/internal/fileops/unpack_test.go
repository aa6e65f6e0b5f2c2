package fileops

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEntriesThatLeadOutAreRefused(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"above":              {entry(tar.TypeReg, "../victim", "")},
		"above, on the way":  {entry(tar.TypeReg, "./a/../../victim", "")},
		"absolute":           {entry(tar.TypeReg, "/victim", "")},
		"directory above":    {entry(tar.TypeDir, "../victim/", "")},
		"by a link above":    {entry(tar.TypeSymlink, "out", ".."), entry(tar.TypeReg, "out/victim", "")},
		"by an absolute one": {entry(tar.TypeSymlink, "out", "/tmp"), entry(tar.TypeReg, "out/victim", "")},
		"by two links":       {entry(tar.TypeSymlink, "a", "."), entry(tar.TypeSymlink, "out", "a/.."), entry(tar.TypeReg, "out/victim", "")},
		"directory by link":  {entry(tar.TypeSymlink, "out", ".."), entry(tar.TypeDir, "out/victim", "")},
		"link's directory":   {entry(tar.TypeSymlink, "out", ".."), entry(tar.TypeDir, "out", "")},
		"symlink by link":    {entry(tar.TypeSymlink, "out", ".."), entry(tar.TypeSymlink, "out/victim", "x")},
		"fifo by link":       {entry(tar.TypeSymlink, "out", ".."), entry(tar.TypeFifo, "out/victim", "")},
		"hard link to above": {entry(tar.TypeLink, "stolen", "../secret")},
		"hard link by link":  {entry(tar.TypeSymlink, "out", ".."), entry(tar.TypeLink, "stolen", "out/secret")},
		"hard link absolute": {entry(tar.TypeLink, "stolen", "/etc/passwd")},
	} {
		outer := t.TempDir()
		mustWrite(t, outer+"/secret", "secret")
		err := Unpack(outer+"/in", bytes.NewReader(archiveOf(t, headers...)))
		var refused *ArchiveError
		last := strings.Trim(headers[len(headers)-1].Name, "/")
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), last) || !strings.Contains(err.Error(), "leads out") {
			t.Errorf("%s: %v", name, err)
		}
		if names, _ := os.ReadDir(outer); len(names) != 2 {
			t.Errorf("%s: %v was made", name, names)
		}
	}
}

func TestLinksThatStayInsideAreFollowed(t *testing.T) {
	root := t.TempDir()
	err := Unpack(root, bytes.NewReader(archiveOf(t,
		entry(tar.TypeDir, "usr/bin/", ""),
		entry(tar.TypeSymlink, "bin", "usr/bin"),
		entry(tar.TypeDir, "bin/", ""),
		entry(tar.TypeReg, "bin/tool", ""),
		entry(tar.TypeLink, "./bin/other", "./bin/tool"),
	)))
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(root + "/usr/bin/other"); string(content) != "xxxxx" {
		t.Errorf("%q %v", content, err)
	}
	if target, err := os.Readlink(root + "/bin"); target != "usr/bin" {
		t.Errorf("%q %v", target, err)
	}
}

func TestWhatIsThereIsReplacedAndDirectoriesAreMerged(t *testing.T) {
	root := t.TempDir()
	outside := mustWrite(t, t.TempDir()+"/outside", "kept")
	os.Chmod(root, 0o711)
	os.Mkdir(root+"/d", 0o700)
	mustWrite(t, root+"/d/old", "old")
	mustWrite(t, root+"/file", "a longer content")
	os.Symlink(outside, root+"/link")
	mustWrite(t, root+"/becomes-link", "x")
	mustWrite(t, root+"/becomes-dir", "x")
	err := Unpack(root, bytes.NewReader(archiveOf(t,
		entry(tar.TypeDir, "./", ""),
		entry(tar.TypeDir, "d", ""),
		entry(tar.TypeReg, "d/new", ""),
		entry(tar.TypeReg, "file", ""),
		entry(tar.TypeReg, "link", ""),
		entry(tar.TypeSymlink, "becomes-link", "file"),
		entry(tar.TypeDir, "becomes-dir", ""),
	)))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		outside: "kept", root + "/file": "xxxxx", root + "/link": "xxxxx", root + "/becomes-link": "xxxxx",
		root + "/d/old": "old", root + "/d/new": "xxxxx",
	} {
		if content, err := os.ReadFile(path); string(content) != want {
			t.Errorf("%s: %q %v", path, content, err)
		}
	}
	for path, want := range map[string]os.FileMode{root: 0o711, root + "/d": 0o755, root + "/becomes-dir": 0o755} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeDir|want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

func TestAnArchiveThatIsCutOffAnywhereIsRefused(t *testing.T) {
	whole := archiveOf(t,
		entry(tar.TypeDir, "./", ""),
		tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 700, Mode: 0o644, Format: tar.FormatPAX, PAXRecords: map[string]string{"comment": "c"}},
		entry(tar.TypeReg, strings.Repeat("long/", 40)+"b", ""),
		// Whose content is zeros, as the end of an archive is.
		entry(tar.TypeReg, "c", ""),
	)
	zeros := bytes.LastIndex(whole, []byte("xxxxx"))
	copy(whole[zeros:], make([]byte, 5))
	end := len(whole) - 2*blockBytes
	for length := range len(whole) {
		// Around the borders of blocks, and some in between.
		if within := length % blockBytes; within > 1 && within != blockBytes-1 && length%97 != 0 {
			continue
		}
		root := t.TempDir()
		err := Unpack(root, bytes.NewReader(whole[:length]))
		var refused *ArchiveError
		if length >= end+blockBytes && length%blockBytes == 0 {
			// One block of zeros at the end of the stream is an end to every tar.
			if err != nil {
				t.Errorf("%d of %d bytes: %v", length, len(whole), err)
			}
		} else if !errors.As(err, &refused) || !strings.Contains(err.Error(), "cut off") {
			t.Fatalf("%d of %d bytes: %v", length, len(whole), err)
		}
	}
	padded := append(bytes.Clone(whole), make([]byte, 10_240)...)
	if err := Unpack(t.TempDir(), bytes.NewReader(padded)); err != nil {
		t.Error(err)
	}
}

func TestAFileThatWasCutOffIsRemoved(t *testing.T) {
	root := t.TempDir()
	whole := archiveOf(t, entry(tar.TypeReg, "a", ""), tar.Header{Typeflag: tar.TypeReg, Name: "b", Size: 10_000, Mode: 0o644})
	if err := Unpack(root, bytes.NewReader(whole[:5000])); err == nil {
		t.Error("no error")
	}
	if names, _ := os.ReadDir(root); len(names) != 1 || names[0].Name() != "a" {
		t.Errorf("%v", names)
	}
}

func TestWhatIsNoArchiveIsRefused(t *testing.T) {
	broken := archiveOf(t, entry(tar.TypeReg, "first", ""), entry(tar.TypeReg, "second", ""))
	broken[2*blockBytes+3] ^= 1
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{nil, "cut off"},
		{bytes.Repeat([]byte("not a tar "), 100), "no tar archive"},
		{append([]byte{0x1f, 0x8b}, make([]byte, 2000)...), "no tar archive"},
		{broken, "after the entry first"},
		{archiveOf(t, entry(tar.TypeChar, "null", "")), "null is a device"},
		{archiveOf(t, entry(tar.TypeBlock, "sda", "")), "sda is a device"},
		{archiveOf(t, entry(tar.TypeReg, ".", "")), "no name"},
		{archiveOf(t, entry(tar.TypeLink, "self", "./self")), "no other file"},
		{archiveOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "o", Uid: 1 << 32}), "which no file can have"},
	} {
		err := Unpack(t.TempDir(), bytes.NewReader(c.content))
		var refused *ArchiveError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %q", c.content, err, c.want)
		}
	}
}

func TestErrorsOfTheFileSystemNameTheEntry(t *testing.T) {
	root := t.TempDir()
	os.MkdirAll(root+"/full/of", 0o755)
	mustWrite(t, root+"/file", "x")
	for _, c := range []struct {
		header tar.Header
		want   error
		named  string
	}{
		{entry(tar.TypeReg, "full", ""), unix.EISDIR, root + "/full"},
		{entry(tar.TypeSymlink, "full", "x"), unix.EISDIR, root + "/full"},
		{entry(tar.TypeReg, "file/below", ""), unix.ENOTDIR, root + "/file/below"},
		{entry(tar.TypeLink, "hard", "no/such"), unix.ENOENT, root + "/no/such"},
	} {
		err := Unpack(root, bytes.NewReader(archiveOf(t, c.header)))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.named) {
			t.Errorf("%s: %v", c.header.Name, err)
		}
	}
	if err := Unpack(root+"/file", bytes.NewReader(archiveOf(t))); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("%v", err)
	}
}

func TestAnEmptyArchiveMakesTheDirectory(t *testing.T) {
	root := t.TempDir() + "/a/b"
	if err := Unpack(root, bytes.NewReader(archiveOf(t))); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		t.Errorf("%v", err)
	}
}
