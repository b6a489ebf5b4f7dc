// Package address knows the addresses that flags take: HOST:PORT, :PORT for this
// machine only, or unix:PATH.
package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// Split returns an address as package net takes it.
func Split(addr string) (network, address string) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return "unix", path
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	return "tcp", addr
}

// Name writes an address as flags do.
func Name(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return a.String()
}

// Check refuses what is no address for a flag.
func Check(flag, addr string) error {
	network, address := Split(addr)
	if network == "unix" && address != "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return fmt.Errorf("--%s %s: write HOST:PORT, :PORT for this machine only, or unix:PATH", flag, addr)
	}
	return nil
}

// Listen opens a listener. A Unix socket that refuses connections is what a
// killed process left, and makes room; a new one is its owner's only. The caller
// closes the listener, which removes the socket.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	network, address := Split(addr)
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if network != "unix" {
		return l, err
	}
	if err != nil && left(address) && os.Remove(address) == nil {
		l, err = new(net.ListenConfig).Listen(ctx, network, address)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(address, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// left reports whether a socket was left by a process that is gone.
func left(path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	}
	return refused(err)
}
