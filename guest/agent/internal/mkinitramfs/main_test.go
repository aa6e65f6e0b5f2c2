package main

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
)

// TestArchive reads the archive back by the rules of the format.
func TestArchive(t *testing.T) {
	for _, program := range []string{"", "a", "four", "a program"} {
		var archive bytes.Buffer
		for i, e := range layout([]byte(program)) {
			e.write(&archive, i+1)
		}
		var listing []string
		for rest := archive.Bytes(); len(rest) > 0; {
			field := func(i int) int {
				n, err := strconv.ParseInt(string(rest[6+8*i:14+8*i]), 16, 64)
				if err != nil || string(rest[:6]) != "070701" {
					t.Fatalf("a header begins with %q: %v", rest[:14], err)
				}
				return int(n)
			}
			name := string(rest[110 : 110+field(11)-1])
			begin := aligned(110 + field(11))
			end := begin + field(6)
			listing = append(listing, fmt.Sprintf("%s %o %d:%d %q", name, field(1), field(9), field(10), rest[begin:end]))
			rest = rest[aligned(end):]
		}
		want := []string{
			`dev 40755 0:0 ""`, `dev/console 20600 5:1 ""`, `dev/null 20666 1:3 ""`, `proc 40755 0:0 ""`, `sys 40755 0:0 ""`,
			`newroot 40755 0:0 ""`, fmt.Sprintf("init 100755 0:0 %q", program), `TRAILER!!! 0 0:0 ""`,
		}
		if fmt.Sprint(listing) != fmt.Sprint(want) {
			t.Errorf("%q", listing)
		}
	}
}

func aligned(n int) int { return (n + 3) &^ 3 }
