package llm

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// proxyVariables returns the variables of the route mitm: the proxy, what does
// not go through it, and the certificates to trust.
func (f *Front) proxyVariables(environ []string) []assignment {
	proxy := "http://" + proxyUser + ":" + f.secret + "@" + f.Addr()
	around := f.noProxy(environ)
	list := []assignment{
		{"HTTPS_PROXY", proxy}, {"https_proxy", proxy}, {"HTTP_PROXY", proxy}, {"http_proxy", proxy},
		{"NO_PROXY", around}, {"no_proxy", around}, {"NODE_USE_ENV_PROXY", "1"},
	}
	if f.mitm.files.write(f.mitm.ca.pem(), environ) != nil {
		return list // the agent will say that it does not trust us
	}
	for _, name := range replacing {
		list = append(list, assignment{name, f.mitm.files.all})
	}
	return append(list, assignment{"NODE_EXTRA_CA_CERTS", f.mitm.files.extra})
}

// replacing are the variables whose file takes the place of the trusted
// certificates of the system.
var replacing = []string{
	"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CODEX_CA_CERTIFICATE", "DENO_CERT", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE",
}

// noProxy returns what goes around the proxy: what the user has named, less the
// model's hosts, and this machine, unless a host of the model is on it.
func (f *Front) noProxy(environ []string) string {
	var list []string
	have := map[string]bool{}
	add := func(entry string) {
		if entry != "" && !have[entry] {
			have[entry] = true
			list = append(list, entry)
		}
	}
	users := lookup(environ, "NO_PROXY")
	if users == "" {
		users = lookup(environ, "no_proxy")
	}
	for entry := range strings.SplitSeq(users, ",") {
		entry = strings.TrimSpace(entry)
		if entry != "*" && !f.mitm.hosts.meets(entry) {
			add(entry)
		}
	}
	if !f.mitm.hosts.namesThisMachine() {
		add("localhost")
		add("127.0.0.1")
		add("::1")
	}
	return strings.Join(list, ",")
}

// meets tells whether an entry of NO_PROXY, which is a host or the end of one,
// would keep a host of the list from us.
func (l allowList) meets(entry string) bool {
	entry = strings.ToLower(entry)
	if h, _, err := net.SplitHostPort(entry); err == nil {
		entry = h
	}
	suffix := strings.TrimPrefix(entry, "*")
	suffix = "." + strings.TrimPrefix(suffix, ".")
	for _, p := range l {
		if p.name == suffix[1:] || strings.HasSuffix(p.name, suffix) || onThisMachine(p.name) && onThisMachine(entry) {
			return true
		}
		if rest, ok := strings.CutPrefix(p.name, "*"); ok && strings.HasSuffix(suffix, rest) {
			return true
		}
	}
	return false
}

// bundle is the public certificates in files, for programs that trust only what
// a file says.
type bundle struct {
	dir   string
	all   string // the system's certificates and ours
	extra string // ours, and what the user has added for Node
}

// systemRoots are where systems keep their trusted certificates in one file.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem", // SUSE
	"/etc/ssl/cert.pem",      // Alpine, macOS, BSD
	"/usr/local/etc/ssl/cert.pem",
}

// write makes the files once. What the user's own variables name is trusted as
// well: what the agent could reach before, it can still reach.
func (b *bundle) write(ca []byte, environ []string) error {
	if b.dir != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "agentrec-ca-")
	if err != nil {
		return fmt.Errorf("write the session's certificate: %w", err)
	}
	all, seen := bytes.NewBuffer(nil), map[string]bool{"": true}
	add := func(path string) bool {
		if seen[path] {
			return false
		}
		seen[path] = true
		pem, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		all.Write(pem)
		all.WriteByte('\n')
		return true
	}
	if !add(lookup(environ, "SSL_CERT_FILE")) {
		for _, path := range systemRoots {
			if add(path) {
				break
			}
		}
	}
	for _, name := range replacing {
		add(lookup(environ, name))
	}
	all.Write(ca)
	extra := ca
	if path := lookup(environ, "NODE_EXTRA_CA_CERTS"); path != "" {
		if pem, err := os.ReadFile(path); err == nil {
			extra = append(append(pem, '\n'), ca...)
		}
	}
	b.dir, b.all, b.extra = dir, filepath.Join(dir, "all.pem"), filepath.Join(dir, "agentrec.pem")
	for path, pem := range map[string][]byte{b.all: all.Bytes(), b.extra: extra} {
		if err := os.WriteFile(path, pem, 0o600); err != nil {
			b.remove()
			return fmt.Errorf("write the session's certificate: %w", err)
		}
	}
	return nil
}

func (b *bundle) remove() {
	if b.dir != "" {
		os.RemoveAll(b.dir)
	}
}
