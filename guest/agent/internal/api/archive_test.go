package api

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

func unpack(t *testing.T, path string, body io.Reader) (int, failure) {
	t.Helper()
	response := send(t, context.Background(), "POST", "/files/unpack?path="+url.QueryEscape(path), body)
	var answer failure
	json.NewDecoder(response.Body).Decode(&answer)
	return response.StatusCode, answer
}

func packedOf(t *testing.T, path string) *http.Response {
	t.Helper()
	text, _ := json.Marshal(object{"path": path})
	return send(t, context.Background(), "POST", "/files/pack", bytes.NewReader(text))
}

func TestPackAndUnpack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()+"/to"
	content := strings.Repeat("0123456789", 100_000)
	os.WriteFile(from+"/f", []byte(content), 0o640)
	response := packedOf(t, from)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/x-tar" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	if status, answer := unpack(t, to, response.Body); status != 204 {
		t.Fatalf("%d %v", status, answer)
	}
	if got, err := os.ReadFile(to + "/f"); string(got) != content {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestWhatIsNotPackedOrUnpacked(t *testing.T) {
	var above bytes.Buffer
	out := tar.NewWriter(&above)
	out.WriteHeader(&tar.Header{Name: "../above", Typeflag: tar.TypeReg})
	out.Close()
	for _, c := range []struct {
		path, body  string
		status      int
		errno, said string
	}{
		{"", "", 400, "EINVAL", "path"},
		{t.TempDir(), above.String(), 400, "EINVAL", "../above"},
		{t.TempDir(), strings.Replace(above.String(), "../above", "x", 1)[:512], 400, "EINVAL", "tar"},
		{t.TempDir(), above.String()[:100], 400, "EINVAL", "cut off"},
		{"/dev/null", "", 422, "ENOTDIR", "/dev/null"},
	} {
		status, answer := unpack(t, c.path, strings.NewReader(c.body))
		if status != c.status || answer.Errno != c.errno || !strings.Contains(answer.Message, c.said) {
			t.Errorf("%q: %d %v", c.path, status, answer)
		}
	}
	for path, errno := range map[string]string{"/no/such": "ENOENT", "/dev/null": "EINVAL"} {
		response := packedOf(t, path)
		var answer failure
		json.NewDecoder(response.Body).Decode(&answer)
		if response.StatusCode != 422 || answer.Errno != errno {
			t.Errorf("%s: %d %v", path, response.StatusCode, answer)
		}
	}
}

func TestAPackThatFailsOnTheWayIsCutOff(t *testing.T) {
	path := t.TempDir() + "/shrinks"
	os.WriteFile(path, nil, 0o644)
	os.Truncate(path, 64<<20)
	response := packedOf(t, path)
	if _, err := io.ReadFull(response.Body, make([]byte, 1<<20)); err != nil || response.StatusCode != 200 {
		t.Fatalf("%d, %v", response.StatusCode, err)
	}
	os.Truncate(path, 1)
	if rest, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Errorf("%d bytes more were told as the whole", rest)
	}
}

func TestAPackThatFailsAtOnceSaysWhy(t *testing.T) {
	// A file of the kernel, of which less can be read than its size says.
	path := "/sys/kernel/mm/transparent_hugepage/enabled"
	if _, err := os.Stat(path); err != nil {
		t.Skipf("this host has no such file: %v", err)
	}
	response := packedOf(t, path)
	var answer failure
	json.NewDecoder(response.Body).Decode(&answer)
	if response.StatusCode != 422 || answer.Errno != "EIO" || !strings.Contains(answer.Message, path) {
		t.Errorf("%d %v", response.StatusCode, answer)
	}
}
