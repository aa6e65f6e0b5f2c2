package main

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

func TestKeyIsLaidOutInWords(t *testing.T) {
	g := guest{Tap: "atoll-12", MAC: mac{2, 0, 10, 213, 0, 9}, Address: netip.MustParseAddr("10.213.0.9")}
	want := append([]byte("atoll-12"), make([]byte, 8)...)
	want = append(want, 2, 0, 10, 213, 0, 9, 0, 0, 10, 213, 0, 9)
	if got := g.key(); !bytes.Equal(got, want) {
		t.Errorf("key is %v, not %v", got, want)
	}
}

func TestFaultyRequestsAreAnsweredByTheirNumber(t *testing.T) {
	host, err := openHost("no-bridge")
	if err != nil {
		t.Fatal(err)
	}
	guest := `{"tap": "none-0", "mac": "02:00:0a:d5:00:09", "address": "10.213.0.9", "policy": "accept"}`
	for body, want := range map[string]string{
		`{"id": 7}`:                          "without an action",
		`{"id": 7, "open": [` + guest + `]}`: "no-bridge",
		`{"id": 7, "forget": "no network"}`:  "no network",
	} {
		if err := host.do(parse(t, body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", body, err, want)
		}
	}
}

func TestWhatIsNoRequestEndsIt(t *testing.T) {
	for _, line := range []string{"none", `{"id": 1, "open": [{"mac": "02:00"}]}`, `{"id": 1, "open": [{"address": "here"}]}`} {
		if err := serve(nil, strings.NewReader(line), &bytes.Buffer{}); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
	if err := serve(nil, strings.NewReader(""), &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}

func parse(t *testing.T, body string) request {
	t.Helper()
	var r request
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	return r
}
