package llm

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

// agentOf returns a client that believes what the environment says.
func agentOf(t *testing.T, env []string, h2 bool) *http.Client {
	t.Helper()
	proxy, err := url.Parse(lookup(env, "HTTPS_PROXY"))
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(lookup(env, "SSL_CERT_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return client(t, &http.Transport{Proxy: http.ProxyURL(proxy), ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{RootCAs: roots}})
}

func TestMITMTakesModelHosts(t *testing.T) {
	f := newFront(t, FrontOptions{Route: store.RouteMITM, Hosts: []string{"*.internal:8443", "127.0.0.1:11434", "[2001:db8::1]"}})
	env := f.Env(nil)
	for _, h2 := range []bool{false, true} {
		c := agentOf(t, env, h2)
		for _, ask := range []string{
			"https://api.openai.com/v1/chat/completions",
			"https://api.anthropic.com/v1/messages?beta=true",
			"https://eu-aiplatform.googleapis.com/v1",
			"https://a.b.internal:8443/x%2Fy",
			"https://127.0.0.1:11434/api/chat",
			"https://[2001:db8::1]/api/chat",
			"http://127.0.0.1:11434/api/chat?",
		} {
			want, _ := url.Parse(ask)
			r := post(t, ask, "hello")
			answer, err := c.Do(r)
			if err != nil {
				t.Errorf("%s: %v", ask, err)
				continue
			}
			b, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if got := string(b); got != "POST "+ask+" host="+want.Host+" body=hello key=k " {
				t.Errorf("%s: %s", ask, got)
			}
			if h2 && want.Scheme == "https" && answer.ProtoMajor != 2 {
				t.Errorf("%s: spoken by %s", ask, answer.Proto)
			}
		}
	}
}

// TestMITMTunnels checks that a host that is not the model's stays itself, and
// that nothing of it comes to the Handler.
func TestMITMTunnels(t *testing.T) {
	other := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "other %s %q", r.Header.Get("X-Forwarded-For"), r.Header["User-Agent"])
	})
	sealed, open := httptest.NewTLSServer(other), httptest.NewServer(other)
	defer sealed.Close()
	defer open.Close()
	for _, refuse := range []bool{false, true} {
		f := newFront(t, FrontOptions{Route: store.RouteMITM, Refuse: refuse})
		proxy, err := url.Parse(lookup(f.Env(nil), "https_proxy"))
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(sealed.Certificate())
		c := client(t, &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots}})
		for _, u := range []string{sealed.URL, open.URL} {
			r := post(t, u, "")
			r.Header["User-Agent"] = nil
			answer, err := c.Do(r)
			if refuse {
				if err == nil {
					answer.Body.Close()
				}
				if err == nil && answer.StatusCode != 403 || err != nil && !strings.Contains(err.Error(), "Forbidden") {
					t.Errorf("%s is not refused: %v", u, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if string(b) != "other  []" {
				t.Errorf("%s: %s", u, b)
			}
		}
		if f.Requests() != 0 {
			t.Error("the handler saw what is not the model's")
		}
		want := []Refusal{{strings.TrimPrefix(sealed.URL, "https://"), 1}, {strings.TrimPrefix(open.URL, "http://"), 1}}
		if got := f.Refused(); refuse && !slices.Equal(got, want) || !refuse && len(got) > 0 {
			t.Errorf("refuse %v: %+v", refuse, got)
		}
	}
}

// TestMITMPlainTunnel has an agent speak HTTP in the clear through CONNECT, as
// Node's fetch does.
func TestMITMPlainTunnel(t *testing.T) {
	f := newFront(t, FrontOptions{Route: store.RouteMITM, Hosts: []string{"model.internal"}})
	c, err := net.Dial("tcp", f.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT model.internal:80 HTTP/1.1\r\nHost: model.internal:80\r\n\r\n")
	r := bufio.NewReader(c)
	answer, err := http.ReadResponse(r, nil)
	if err != nil || answer.StatusCode != http.StatusProxyAuthRequired {
		t.Fatalf("without the secret: %v, %v", answer, err)
	}
	io.Copy(io.Discard, answer.Body)
	proxy, _ := url.Parse(lookup(f.Env(nil), "HTTP_PROXY"))
	ask := &http.Request{Method: "CONNECT", URL: &url.URL{Opaque: "model.internal:80"}, Host: "model.internal:80", Header: http.Header{}}
	password, _ := proxy.User.Password()
	ask.SetBasicAuth(proxy.User.Username(), password)
	ask.Header["Proxy-Authorization"] = ask.Header["Authorization"]
	ask.Write(c)
	if answer, err = http.ReadResponse(r, ask); err != nil || answer.StatusCode != 200 {
		t.Fatalf("CONNECT: %v, %v", answer, err)
	}
	fmt.Fprintf(c, "GET /api/tags HTTP/1.1\r\nHost: model.internal\r\n\r\n")
	if answer, err = http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(answer.Body); string(b) != "GET http://model.internal/api/tags host=model.internal body= key= " {
		t.Errorf("%s", b)
	}
}

func TestEnvMITM(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"own.pem": "OWN ROOTS", "corp.pem": "CORP", "node.pem": "NODE"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{
		"NO_PROXY=*, corp.example,.openai.com,api.anthropic.com,googleapis.com",
		"SSL_CERT_FILE=" + filepath.Join(dir, "own.pem"), "CURL_CA_BUNDLE=" + filepath.Join(dir, "corp.pem"), "NODE_EXTRA_CA_CERTS=" + filepath.Join(dir, "node.pem"),
	}
	f := newFront(t, FrontOptions{Route: store.RouteMITM})
	env := f.Env(environ)
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if got := lookup(env, name); got != "corp.example,localhost,127.0.0.1,::1" {
			t.Errorf("%s=%s", name, got)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(lookup(env, name))
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO"} {
		if all := read(name); !strings.Contains(all, "OWN ROOTS") || !strings.Contains(all, "CORP") || !strings.Contains(all, "BEGIN CERTIFICATE") || strings.Contains(all, "NODE") {
			t.Errorf("%s is %s", name, all)
		}
	}
	if extra := read("NODE_EXTRA_CA_CERTS"); !strings.HasPrefix(extra, "NODE\n-----BEGIN") || strings.Contains(extra, "PRIVATE") || strings.Contains(extra, "OWN") {
		t.Errorf("NODE_EXTRA_CA_CERTS is %s", extra)
	}
	f.Close()
	if _, err := os.Stat(filepath.Dir(lookup(env, "SSL_CERT_FILE"))); !os.IsNotExist(err) {
		t.Errorf("the certificates stay: %v", err)
	}
	local := newFront(t, FrontOptions{Route: store.RouteMITM, Hosts: []string{"127.0.0.1:8080"}})
	if got := lookup(local.Env([]string{"NO_PROXY=localhost,127.0.0.1"}), "NO_PROXY"); got != "" {
		t.Errorf("NO_PROXY=%s keeps a model on this machine from us", got)
	}
}

func TestAuthority(t *testing.T) {
	a, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	long := strings.Repeat("a", 60) + ".example.com"
	for _, host := range []string{"api.openai.com", "127.0.0.1", "::1", long} {
		c, err := a.issue(host)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if again, _ := a.issue(host); again != c {
			t.Errorf("%s: issued twice", host)
		}
		for _, cert := range []*x509.Certificate{leaf, a.cert} {
			if d := cert.NotAfter.Sub(cert.NotBefore).Hours(); d > 48 {
				t.Errorf("%s: good for %.1f hours", host, d)
			}
		}
	}
}

func TestCheckHost(t *testing.T) {
	for pattern, ok := range map[string]bool{
		"api.example.com": true, "*.example.com:443": true, "127.0.0.1:8080": true, "[::1]:1": true, "localhost": true,
		"": false, "http://x": false, "a b": false, "[": false, "u@h": false,
	} {
		if err := CheckHost(pattern); (err == nil) != ok {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}
