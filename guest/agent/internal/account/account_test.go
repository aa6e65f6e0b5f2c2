package account

import (
	"reflect"
	"strings"
	"testing"
)

const passwd = `root:x:0:0:root:/root:/bin/bash
# a comment
broken:x:none:0::/:/bin/sh
ops:x:7:1000:ops:/ops:/bin/sh
web:x:33:33:web:/var/www:/usr/sbin/nologin
ann:x:1000:1000:Ann,,,:/home/ann:
1234:x:1500:1500::/home/digits:/bin/sh
`

const group = `root:x:0:
staff:x:50:ann,web
docker:x:999:ann
ann:x:1000:
short
`

func TestResolve(t *testing.T) {
	root := Account{Name: "root", Groups: []uint32{0}, Home: "/root", Shell: "/bin/bash"}
	ann := Account{Name: "ann", UID: 1000, GID: 1000, Groups: []uint32{1000, 50, 999}, Home: "/home/ann", Shell: "/bin/sh"}
	annInStaff, annInSeven := ann, ann
	annInStaff.GID, annInStaff.Groups = 50, []uint32{50}
	annInSeven.GID, annInSeven.Groups = 7, []uint32{7}
	cases := map[string]Account{
		"":          root,
		"root":      root,
		"0":         root,
		"ann":       ann,
		"1000":      ann,
		"ann:staff": annInStaff,
		"1000:7":    annInSeven,
		"4242":      {UID: 4242, Groups: []uint32{0}, Home: "/", Shell: "/bin/sh"},
		"7":         {Name: "ops", UID: 7, GID: 1000, Groups: []uint32{1000}, Home: "/ops", Shell: "/bin/sh"},
		"1234":      {Name: "1234", UID: 1500, GID: 1500, Groups: []uint32{1500}, Home: "/home/digits", Shell: "/bin/sh"},
	}
	for user, want := range cases {
		got, err := resolve(user, passwd, group)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("resolve(%q) = %+v, %v; want %+v", user, got, err, want)
		}
	}
}

func TestResolveUnknown(t *testing.T) {
	cases := map[string]string{
		"nobody":       `user "nobody": no such user`,
		"broken":       `user "broken": no such user`,
		"ann:nogroup":  `no such group "nogroup"`,
		"4294967295":   "no such user",
		"-1":           "no such user",
		"99999999999":  "no such user",
		"ann:":         "no such group",
		":staff":       "no such user",
		"ann:-1":       "no such group",
		"ann:staff:50": "no such group",
	}
	for user, want := range cases {
		_, err := resolve(user, passwd, group)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("resolve(%q): %v, want %q", user, err, want)
		}
	}
}

func TestResolveWithoutFiles(t *testing.T) {
	for _, user := range []string{"", "root", "0", "0:0"} {
		got, err := resolve(user, "", "")
		if err != nil || got.Name != "root" || got.Home != "/root" {
			t.Errorf("resolve(%q) = %+v, %v", user, got, err)
		}
	}
}

func TestCredential(t *testing.T) {
	if got := (Account{Groups: []uint32{0}}).Credential(); got != nil {
		t.Errorf("plain root needs no credential, got %+v", got)
	}
	if got := (Account{UID: 7, GID: 8, Groups: []uint32{8, 9}}).Credential(); got == nil || got.Uid != 7 || got.Gid != 8 {
		t.Errorf("got %+v", got)
	}
	if got := (Account{Groups: []uint32{0, 5}}).Credential(); got == nil || len(got.Groups) != 2 {
		t.Errorf("root with groups needs a credential, got %+v", got)
	}
}
