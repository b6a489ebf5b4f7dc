package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// cleartext asks upstreams that speak HTTP/1.1 in the clear, such as a model on this
// machine. It does in the goroutine of the request what net/http's transport
// hands to two others and back, and it knows what it has read ahead.
type cleartext struct {
	mu     sync.Mutex
	idle   map[string][]*line // by HOST:PORT, the last used at the end
	closed bool
}

// line is a connection to an upstream.
type line struct {
	addr string
	conn *bounded
	r    *bufio.Reader
	w    *bufio.Writer
	last time.Time // when it became idle
}

const (
	smallBody   = 64 << 10         // a longer request is written while its answer is read, by the transport
	idleTime    = 30 * time.Second // a line that rests longer is not used again
	idleLines   = 64               // for one upstream
	longestHead = 10 << 20         // of an answer, as for the transport
)

// suits tells whether a request can go this way.
func (p *cleartext) suits(r *http.Request) bool {
	if r.URL.Scheme != "http" || r.ContentLength < 0 || r.ContentLength > smallBody || len(r.Trailer) > 0 || len(r.Header["Expect"]) > 0 {
		return false
	}
	proxy, err := http.ProxyFromEnvironment(r)
	return proxy == nil && err == nil
}

// roundTrip sends the request of a relay, whose body is at hand, and returns its
// answer, whose body says with ready whether a Read would return at once.
func (p *cleartext) roundTrip(told *relay) (*http.Response, error) {
	ctx := told.r.Context()
	l, err := p.line(ctx, told.r.URL)
	if err != nil {
		return nil, err
	}
	told.reached()
	stop := context.AfterFunc(ctx, func() { l.conn.SetDeadline(time.Unix(1, 0)) })
	answer, err := l.ask(told)
	if err != nil {
		stop()
		l.conn.Close()
		return nil, err
	}
	answer.Body = &reply{ReadCloser: answer.Body, lines: p, line: l, stop: stop, keep: !answer.Close, chunked: len(answer.TransferEncoding) > 0}
	return answer, nil
}

func (l *line) ask(told *relay) (*http.Response, error) {
	l.write(told)
	if err := l.w.Flush(); err != nil {
		return nil, err
	}
	l.conn.left = longestHead
	defer func() { l.conn.left = math.MaxInt64 }()
	for {
		answer, err := http.ReadResponse(l.r, told.r)
		if err != nil || answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols {
			return answer, err
		}
		if err := told.informed(answer.StatusCode, textproto.MIMEHeader(answer.Header)); err != nil {
			return nil, err
		}
	}
}

// write writes a request as it goes to its upstream, see relay.outgoing. What the
// server has read needs no checks any more; an error is that of the next Flush.
func (l *line) write(told *relay) {
	r, w := told.r, l.w
	w.WriteString(r.Method)
	w.WriteByte(' ')
	w.WriteString(r.URL.RequestURI())
	w.WriteString(" HTTP/1.1\r\n")
	field := func(name, value string) {
		w.WriteString(name)
		w.WriteString(": ")
		w.WriteString(value)
		w.WriteString("\r\n")
	}
	field("Host", r.Host)
	counted := len(told.whole) > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch
	for _, f := range told.header {
		switch f.Name {
		case "Host", "Accept-Encoding":
		case "Content-Length":
			counted = true
		default:
			if !told.between(f.Name) {
				field(f.Name, f.Value)
			}
		}
	}
	if listed(r.Header["Te"], "trailers") {
		field("Te", "trailers")
	}
	field("Accept-Encoding", "identity")
	if counted {
		field("Content-Length", strconv.Itoa(len(told.whole)))
	}
	w.WriteString("\r\n")
	w.Write(told.whole)
}

// line returns a connection to an upstream.
func (p *cleartext) line(ctx context.Context, u *url.URL) (*line, error) {
	addr := net.JoinHostPort(u.Hostname(), port(u))
	p.mu.Lock()
	for n := len(p.idle[addr]); n > 0; n = len(p.idle[addr]) {
		l := p.idle[addr][n-1]
		p.idle[addr] = p.idle[addr][:n-1]
		if time.Since(l.last) < idleTime && stillOpen(l.conn.Conn) {
			p.mu.Unlock()
			return l, nil
		}
		l.conn.Close()
	}
	p.mu.Unlock()
	dialled, err := dialer().DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &bounded{Conn: dialled}
	return &line{addr: addr, conn: c, r: bufio.NewReaderSize(c, 64<<10), w: bufio.NewWriterSize(c, 16<<10)}, nil
}

// rest takes a line back.
func (p *cleartext) rest(l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle[l.addr]) >= idleLines || l.r.Buffered() > 0 {
		l.conn.Close()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]*line{}
	}
	l.last = time.Now()
	p.idle[l.addr] = append(p.idle[l.addr], l)
}

func (p *cleartext) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, list := range p.idle {
		for _, l := range list {
			l.conn.Close()
		}
	}
	p.idle = nil
}

// bounded is a connection of which only so much more may be read.
type bounded struct {
	net.Conn
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the head of the answer is too long")
	}
	n, err := b.Conn.Read(p)
	b.left -= int64(n)
	return n, err
}

// reply is the body of an answer.
type reply struct {
	io.ReadCloser
	lines   *cleartext
	line    *line
	stop    func() bool
	keep    bool
	chunked bool
	ended   bool
}

// ready tells whether the next Read returns bytes without waiting for more.
func (b *reply) ready() bool {
	n := b.line.r.Buffered()
	if !b.chunked || n == 0 {
		return n > 0
	}
	ahead, err := b.line.r.Peek(n)
	size, rest, ok := bytes.Cut(ahead, []byte("\r\n"))
	return err == nil && ok && len(rest) > 0 && len(size) > 0 && size[0] != '0'
}

func (b *reply) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.ended {
		b.ended = true
		if b.stop() && b.keep {
			b.lines.rest(b.line)
		} else {
			b.line.conn.Close()
		}
	}
	return n, err
}

// Close ends the connection unless all of the answer has been read.
func (b *reply) Close() error {
	if b.ended {
		return nil
	}
	b.ended = true
	b.stop()
	return b.line.conn.Close()
}
