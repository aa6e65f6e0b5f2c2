module atoll/guest/agent

go 1.24.0

toolchain go1.26.8

require golang.org/x/sys v0.31.0
