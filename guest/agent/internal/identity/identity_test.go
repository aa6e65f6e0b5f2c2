package identity

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithOwnName(t *testing.T) {
	cases := []struct{ name, hosts, want string }{
		{"empty", "", "127.0.1.1\tbox\n"},
		{"appended", "127.0.0.1 localhost\n", "127.0.0.1 localhost\n127.0.1.1\tbox\n"},
		{"no newline at the end", "127.0.0.1 localhost", "127.0.0.1 localhost\n127.0.1.1\tbox\n"},
		{"replaced in place", "127.0.1.1 old\n::1 six\n", "127.0.1.1\tbox\n::1 six\n"},
		{"only once", "127.0.1.1 a\n# note\n127.0.1.1 b\n", "127.0.1.1\tbox\n# note\n"},
		{"other addresses stay", "127.0.1.10 x\n\n", "127.0.1.10 x\n\n127.0.1.1\tbox\n"},
	}
	for _, c := range cases {
		got := withOwnName(c.hosts, "box")
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if again := withOwnName(got, "box"); again != got {
			t.Errorf("%s: not idempotent: %q", c.name, again)
		}
	}
}

func TestCheckHostname(t *testing.T) {
	for _, name := range []string{"a", "box-1", "box.example.org", "1", strings.Repeat("a", 64)} {
		if err := CheckHostname(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-a", "a-", "a b", "a\n", "a..b", ".", "ü", strings.Repeat("a", 65), "a_b"} {
		if CheckHostname(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}

func TestCheckMachineID(t *testing.T) {
	if err := CheckMachineID("0123456789abcdef0123456789abcdef"); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"", "0123", strings.Repeat("g", 32), strings.Repeat("A", 32), strings.Repeat("a", 34)} {
		if CheckMachineID(id) == nil {
			t.Errorf("%q passes", id)
		}
	}
}

func TestParseClock(t *testing.T) {
	at, err := ParseClock("1700000000123456789")
	if err != nil || at.UnixNano() != 1700000000123456789 {
		t.Errorf("%v, %v", at, err)
	}
	for _, text := range []string{"", "-1", "1.5", "1e9", "99999999999999999999"} {
		if _, err := ParseClock(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func TestPoolInfo(t *testing.T) {
	info := poolInfo([]byte("seed"))
	if !bytes.Equal(info, []byte("\x20\x00\x00\x00\x04\x00\x00\x00seed")) {
		t.Errorf("%q", info)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etc", "name")
	var before os.FileInfo
	for _, c := range []struct {
		content string
		isSame  bool
	}{{"one", false}, {"two", true}, {"two", true}, {"three", false}, {"4", false}, {"", false}} {
		if err := writeFile(path, c.content, 0o444); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != c.content {
			t.Errorf("%q, want %q", got, c.content)
		}
		after, _ := os.Stat(path)
		if os.SameFile(before, after) != c.isSame {
			t.Errorf("%q: the same file: %t", c.content, !c.isSame)
		}
		before = after
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWriteFileTouchesNoOther(t *testing.T) {
	dir := t.TempDir()
	other, link, name := filepath.Join(dir, "other"), filepath.Join(dir, "link"), filepath.Join(dir, "name")
	os.WriteFile(other, []byte("old"), 0o644)
	os.Symlink(other, link)
	os.Link(other, name)
	for _, path := range []string{link, name} {
		if err := writeFile(path, "new", 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "new" {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got, _ := os.ReadFile(other); string(got) != "old" {
		t.Errorf("the other file became %q", got)
	}
}
