package fileops

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// mostUnpacked keeps a fuzzed archive from filling the disk: a header may announce terabytes of holes.
const mostUnpacked = 1 << 16

// FuzzUnpack: no archive changes or adds anything beside the directory it is unpacked into.
func FuzzUnpack(f *testing.F) {
	for _, headers := range [][]tar.Header{
		{{Typeflag: tar.TypeReg, Name: "a/b", Size: 3, Mode: 0o644}},
		{{Typeflag: tar.TypeReg, Name: "../up", Size: 3}},
		{{Typeflag: tar.TypeSymlink, Name: "out", Linkname: ".."}, {Typeflag: tar.TypeReg, Name: "out/up", Size: 3}},
		{{Typeflag: tar.TypeReg, Name: "x", Size: 3}, {Typeflag: tar.TypeLink, Name: "y", Linkname: "x"}},
		{{Typeflag: tar.TypeLink, Name: "y", Linkname: "../witness"}},
		{{Typeflag: tar.TypeDir, Name: "./", Mode: 0o700}, {Typeflag: tar.TypeFifo, Name: "p"}, {Typeflag: tar.TypeChar, Name: "c"}},
	} {
		var out bytes.Buffer
		writer := tar.NewWriter(&out)
		for _, header := range headers {
			if writer.WriteHeader(&header) == nil && header.Size > 0 {
				writer.Write([]byte("abc"))
			}
		}
		writer.Close()
		f.Add(out.Bytes())
	}
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if announces(data) > mostUnpacked {
			t.Skip("announces more than is tried")
		}
		outer := t.TempDir()
		witness := filepath.Join(outer, "witness")
		if err := os.WriteFile(witness, []byte("here"), 0o600); err != nil {
			t.Fatal(err)
		}
		Unpack(filepath.Join(outer, "in"), bytes.NewReader(data))
		if text, err := os.ReadFile(witness); err != nil || string(text) != "here" {
			t.Errorf("the witness is %q, %v", text, err)
		}
		names, _ := os.ReadDir(outer)
		if len(names) != 2 {
			t.Errorf("%v was made", names)
		}
		if stat, err := os.Lstat(witness); err != nil || stat.Mode() != 0o600 {
			t.Errorf("the witness has mode %v, %v", stat.Mode(), err)
		}
	})
}

// announces is the sum of the sizes in an archive's headers.
func announces(data []byte) (sum int64) {
	archive := tar.NewReader(bytes.NewReader(data))
	for {
		header, err := archive.Next()
		if err != nil {
			return sum
		}
		if sum += header.Size; sum > mostUnpacked || sum < 0 {
			return mostUnpacked + 1
		}
		io.Copy(io.Discard, archive)
	}
}
