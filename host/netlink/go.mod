module atoll/host/netlink

go 1.24.0

toolchain go1.26.8

require (
	github.com/google/nftables v0.3.0
	github.com/vishvananda/netlink v1.3.1
	golang.org/x/sys v0.31.0
)

require (
	github.com/google/go-cmp v0.6.0 // indirect
	github.com/mdlayher/netlink v1.7.3-0.20250113171957-fbb4dce95f42 // indirect
	github.com/mdlayher/socket v0.5.0 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/net v0.33.0 // indirect
	golang.org/x/sync v0.6.0 // indirect
)
