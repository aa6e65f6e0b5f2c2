// The netlink helper changes the host's network for the daemon: who is on which tap, and what connection tracking remembers. It
// stands in for `nft`, `bridge`, `ip` and `conntrack`, of which each change would start one process. What those are for alone, the
// rules themselves and bandwidths, it leaves to them.
//
// Usage: netlink BRIDGE, with CAP_NET_ADMIN. Requests come as JSON lines on standard input and are answered, in whatever order they
// are done, on standard output; it ends with its input.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: netlink BRIDGE")
		os.Exit(2)
	}
	// The file may be seen by another name. Without this one it works as well.
	_ = os.WriteFile("/proc/self/comm", []byte("atoll-netlink"), 0)
	host, err := openHost(os.Args[1])
	if err == nil {
		err = serve(host, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "netlink:", err)
		os.Exit(1)
	}
}
