package llm

import (
	"bufio"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// mitm is what the route of that name needs: a proxy that the agent's variables
// name. A CONNECT to a host of the model is answered as if by that host, with a
// certificate of the session's own authority; any other host gets a tunnel.
type mitm struct {
	hosts  allowList
	ca     *authority
	files  bundle
	sealed *taken // connections whose agent speaks TLS
	plain  *taken // connections whose agent speaks HTTP in the clear through CONNECT

	transport *transport // for what is not the model's

	mu    sync.Mutex
	conns map[net.Conn]bool // hijacked; nil once closed
	using sync.WaitGroup    // of conns
}

func newMITM(hosts []string) (*mitm, error) {
	m := &mitm{conns: map[net.Conn]bool{}, sealed: newTaken(), plain: newTaken(), transport: newTransport()}
	var err error
	if m.hosts, err = newAllowList(hosts); err != nil {
		return nil, err
	}
	if m.ca, err = newAuthority(); err != nil {
		return nil, err
	}
	return m, nil
}

// close ends the connections that no server knows of. A nil mitm has none.
func (m *mitm) close() {
	if m == nil {
		return
	}
	m.sealed.Close()
	m.plain.Close()
	m.mu.Lock()
	for c := range m.conns {
		c.Close()
	}
	m.conns = nil
	m.mu.Unlock()
	m.using.Wait()
	m.transport.close()
	m.files.remove()
}

// keep has close end a connection, and tells whether there is still time.
func (m *mitm) keep(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conns == nil {
		c.Close()
		return false
	}
	m.conns[c] = true
	m.using.Add(1)
	return true
}

// drop closes a kept connection, once.
func (m *mitm) drop(c net.Conn) {
	c.Close()
	m.mu.Lock()
	delete(m.conns, c)
	m.mu.Unlock()
	m.using.Done()
}

// proxy answers what an agent asks of its proxy.
func (f *Front) proxy(w http.ResponseWriter, r *http.Request) {
	if !f.mayProxy(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="agentrec"`)
		http.Error(w, "agentrec: this proxy is for one agent only", http.StatusProxyAuthRequired)
		return
	}
	r.Header.Del("Proxy-Authorization")
	r.Header.Del("Proxy-Connection")
	switch {
	case r.Method == http.MethodConnect:
		f.connect(w, r)
	case !r.URL.IsAbs():
		http.Error(w, "agentrec: this is a proxy", http.StatusNotFound)
	case f.mitm.hosts.has(r.URL.Hostname(), port(r.URL)):
		target := *r.URL
		target.User = nil
		f.handle(w, r, &target, r.Host)
	case f.o.Refuse:
		f.refuse(w, r.URL.Host)
	default:
		(&relay{w: w, r: r}).run(f.mitm.transport)
	}
}

// mayProxy tells whether a request knows the secret that the agent's variables
// hold.
func (f *Front) mayProxy(r *http.Request) bool {
	kind, text, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	if !strings.EqualFold(kind, "basic") {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	return err == nil && subtle.ConstantTimeCompare(b, []byte(proxyUser+":"+f.secret)) == 1
}

const proxyUser = "agentrec"

// refuse answers a request to a host that is neither the model's nor tunnelled to.
func (f *Front) refuse(w http.ResponseWriter, host string) {
	f.refusals.add(host)
	http.Error(w, "agentrec: "+host+" is not in the recording's reach: only the model's hosts are answered", http.StatusForbidden)
}

// connect answers CONNECT HOST:PORT.
func (f *Front) connect(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.RequestURI)
	switch {
	case err != nil:
		http.Error(w, "agentrec: CONNECT takes HOST:PORT", http.StatusBadRequest)
	case f.mitm.hosts.has(host, port):
		if c := f.hijack(w); c != nil {
			f.take(c, r.RequestURI)
		}
	case f.o.Refuse:
		f.refuse(w, r.RequestURI)
	default:
		f.tunnel(w, r)
	}
}

// hijack takes a connection from its server and says that the tunnel stands.
// The connection is closed by drop, or by close.
func (f *Front) hijack(w http.ResponseWriter) net.Conn {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "agentrec: "+err.Error(), http.StatusInternalServerError)
		return nil
	}
	if !f.mitm.keep(c) {
		return nil
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		f.mitm.drop(c)
		return nil
	}
	return &begun{Conn: c, r: rw.Reader}
}

// take serves a connection to one of the model's hosts ourselves.
func (f *Front) take(c net.Conn, target string) {
	b := c.(*begun)
	first, err := b.r.Peek(1)
	if err != nil {
		f.mitm.drop(b.Conn)
		return
	}
	b.target = target
	b.closed = func() { f.mitm.drop(b.Conn) }
	const handshake = 22 // the first byte of TLS
	if first[0] == handshake {
		f.mitm.sealed.give(b)
	} else {
		f.mitm.plain.give(b)
	}
}

// innerTLS is the server behind CONNECT for agents that speak TLS, HTTP/2
// included.
func (f *Front) innerTLS() *http.Server {
	s := f.inner()
	s.TLSConfig = &tls.Config{
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := hello.ServerName
			if name == "" { // an address has no server name
				name, _, _ = net.SplitHostPort(hello.Conn.(*begun).target)
			}
			return f.mitm.ca.issue(strings.ToLower(name))
		},
	}
	return s
}

type targetKey struct{}

// inner is the server behind CONNECT.
func (f *Front) inner() *http.Server {
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		target := *r.URL
		target.Scheme, target.Host = "http", r.Context().Value(targetKey{}).(string)
		if r.TLS != nil {
			target.Scheme = "https"
		}
		usual := map[string]string{"http": ":80", "https": ":443"}[target.Scheme]
		target.Host = strings.TrimSuffix(target.Host, usual)
		f.handle(w, r, &target, r.Host)
	})
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		return context.WithValue(ctx, targetKey{}, c.(*begun).target)
	}
	return s
}

// tunnel joins the agent with any other host.
func (f *Front) tunnel(w http.ResponseWriter, r *http.Request) {
	there, err := dialTunnel(r.Context(), r.RequestURI)
	if err != nil {
		http.Error(w, "agentrec: "+err.Error(), http.StatusBadGateway)
		return
	}
	if !f.mitm.keep(there) {
		return
	}
	defer f.mitm.drop(there)
	c := f.hijack(w)
	if c == nil {
		return
	}
	here := c.(*begun)
	defer f.mitm.drop(here.Conn)
	if early, _ := here.r.Peek(here.r.Buffered()); len(early) > 0 {
		if _, err := there.Write(early); err != nil {
			return
		}
	}
	var both sync.WaitGroup
	both.Go(func() { join(there, here.Conn) })
	both.Go(func() { join(here.Conn, there) })
	both.Wait()
}

// join copies one direction and passes its end on.
func join(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if half, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		half.CloseWrite()
		return
	}
	dst.Close()
	src.Close()
}

// port returns the port of a URL, its scheme's own if it names none.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// begun is a connection from which the server that had it before has read a
// little ahead.
type begun struct {
	net.Conn
	r      *bufio.Reader
	target string // HOST:PORT of its CONNECT
	once   sync.Once
	closed func()
}

func (b *begun) Read(p []byte) (int, error) {
	if b.r.Buffered() > 0 {
		return b.r.Read(p[:min(len(p), b.r.Buffered())])
	}
	return b.Conn.Read(p)
}

func (b *begun) Close() error {
	b.once.Do(b.closed)
	return nil
}

// taken is the listener of connections that come by CONNECT.
type taken struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newTaken() *taken { return &taken{conns: make(chan net.Conn), done: make(chan struct{})} }

func (t *taken) give(c net.Conn) {
	select {
	case t.conns <- c:
	case <-t.done:
		c.Close()
	}
}

func (t *taken) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.done:
		return nil, net.ErrClosed
	}
}

func (t *taken) Close() error {
	t.once.Do(func() { close(t.done) })
	return nil
}

func (t *taken) Addr() net.Addr { return &net.TCPAddr{} }
