module atoll/guest/agent

go 1.24.0

toolchain go1.26.8

require (
	github.com/creack/pty v1.1.24
	github.com/vishvananda/netlink v1.3.1
	golang.org/x/sys v0.31.0
)

require github.com/vishvananda/netns v0.0.5 // indirect
