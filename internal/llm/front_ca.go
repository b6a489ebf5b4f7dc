package llm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority is a certificate authority that lives as long as its session: its
// key never leaves this process's memory.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	leaf *ecdsa.PrivateKey // of all the certificates it gives

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

// A certificate is good from a little before the session's start, for clocks
// that differ, and for 48 hours in all.
const (
	validBefore = time.Hour
	validAfter  = 47 * time.Hour
)

func newAuthority() (*authority, error) {
	a := &authority{issued: map[string]*tls.Certificate{}}
	var err error
	for _, key := range []**ecdsa.PrivateKey{&a.key, &a.leaf} {
		if *key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, fmt.Errorf("make a key for this session: %w", err)
		}
	}
	template := certificate("agentrec, for one session")
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority for this session: %w", err)
	}
	return a, nil
}

func certificate(name string) *x509.Certificate {
	serial := make([]byte, 16)
	rand.Read(serial)
	serial[0] &= 0x7f
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-validBefore),
		NotAfter:     now.Add(validAfter),
	}
}

// pem returns the authority's certificate for a bundle.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue returns a certificate for a host, the same one each time.
func (a *authority) issue(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[host]; c != nil {
		return c, nil
	}
	template := certificate(host[:min(len(host), 64)]) // the most that a common name may hold
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.leaf.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", host, err)
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leaf}
	a.issued[host] = c
	return c, nil
}
