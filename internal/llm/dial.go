package llm

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"
)

// newTransport returns how requests reach their upstream: through the proxy that
// this process's own environment names, if any, as the agent's would have, and
// with the certificates that it names for the agent besides the system's. It
// neither asks for compression nor follows a redirect nor has a limit of time.
func newTransport() *transport {
	return &transport{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer().DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: agentRoots()},
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		ReadBufferSize:        64 << 10,
		WriteBufferSize:       64 << 10,
	}}
}

// agentRoots returns the certificates that this system trusts and those that
// variables name for programs which do not ask the system, nil if there are none:
// without them the agent could reach its model behind a company's own proxy, and
// we could not.
func agentRoots() *x509.CertPool {
	var more [][]byte
	for _, name := range append(slices.Clone(replacing), "NODE_EXTRA_CA_CERTS") {
		if path := os.Getenv(name); path != "" && name != "SSL_CERT_FILE" { // that one is the system's
			if pem, err := os.ReadFile(path); err == nil {
				more = append(more, pem)
			}
		}
	}
	if len(more) == 0 {
		return nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	for _, pem := range more {
		roots.AppendCertsFromPEM(pem)
	}
	return roots
}

// transport is net/http's, beside a shorter way for what needs no more.
type transport struct {
	*http.Transport
	cleartext cleartext
}

// close closes the connections that rest, and those in use once they would.
func (t *transport) close() {
	t.CloseIdleConnections()
	t.cleartext.close()
}

func dialer() *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
}

// dialTunnel connects to HOST:PORT as newTransport would for https.
func dialTunnel(ctx context.Context, addr string) (net.Conn, error) {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: addr}})
	if err != nil || proxy == nil {
		return dialer().DialContext(ctx, "tcp", addr)
	}
	c, err := dialer().DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port(proxy)))
	if err != nil {
		return nil, fmt.Errorf("connect to the proxy: %w", err)
	}
	switch proxy.Scheme {
	case "http":
	case "https":
		sealed := tls.Client(c, &tls.Config{ServerName: proxy.Hostname()})
		if err := sealed.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, fmt.Errorf("connect to the proxy: %w", err)
		}
		c = sealed
	default:
		c.Close()
		return nil, fmt.Errorf("connect to the proxy: tunnels through %s are not made", proxy.Scheme)
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{"User-Agent": {""}}}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		ask.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := ask.Write(c); err != nil {
		c.Close()
		return nil, fmt.Errorf("ask the proxy for a tunnel: %w", err)
	}
	r := bufio.NewReaderSize(c, 1) // so that nothing of the tunnel is read
	answer, err := http.ReadResponse(r, ask)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("ask the proxy for a tunnel: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		c.Close()
		return nil, fmt.Errorf("ask the proxy for a tunnel: it answered %s", answer.Status)
	}
	if r.Buffered() == 0 {
		return c, nil
	}
	return &begun{Conn: c, r: r, closed: func() { c.Close() }}, nil
}
