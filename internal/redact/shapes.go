package redact

import (
	"bytes"
	"strings"
)

// shape is a well-known form of key: a prefix and what must follow it. The
// forms are those the issuers print and secret scanners publish; the lengths
// are a little below the real ones, for a key cut short is still most of a key.
type shape struct {
	kind   string
	prefix string
	class  *[256]bool                     // the bytes after the prefix
	min    int                            // how many of them at least
	max    int                            // at most, 0 for any number; one more and it is no key
	left   *[256]bool                     // bytes that must not stand before it, nil for any
	test   func(near []byte) bool         // what else must hold of them, as far as the window goes
	more   func(text []byte, end int) int // what must follow them; returns the end or -1
}

var (
	alnum    = classOf("0-9A-Za-z")
	word     = classOf("0-9A-Za-z_")
	dashed   = classOf("0-9A-Za-z_-")
	dotted   = classOf("0-9A-Za-z_.-")
	upper    = classOf("0-9A-Z")
	hexDigit = classOf("0-9a-f")
	bearer   = classOf("0-9A-Za-z._~+/=-")
)

// classOf turns "a-z_" into a table; a dash at the end is itself.
func classOf(set string) *[256]bool {
	var t [256]bool
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			for c := int(set[i]); c <= int(set[i+2]); c++ {
				t[c] = true
			}
			i += 2
			continue
		}
		t[set[i]] = true
	}
	return &t
}

// shapes is the list. A long prefix says enough by itself; a short one must
// stand at the beginning of a word.
var shapes = []shape{
	{kind: "anthropic", prefix: "sk-ant-", class: dashed, min: 16},
	{kind: "openai", prefix: "sk-proj-", class: dashed, min: 16},
	{kind: "openai", prefix: "sk-svcacct-", class: dashed, min: 16},
	{kind: "openai", prefix: "sk-admin-", class: dashed, min: 16},
	{kind: "openrouter", prefix: "sk-or-v1-", class: dashed, min: 16},
	{kind: "api_key", prefix: "sk-", class: dashed, min: 20, left: word, test: solid},
	{kind: "google", prefix: "AIza", class: dashed, min: 35, left: word},
	{kind: "google_oauth", prefix: "ya29.", class: dotted, min: 20, left: word},
	{kind: "google_oauth", prefix: "GOCSPX-", class: dashed, min: 20},
	{kind: "groq", prefix: "gsk_", class: alnum, min: 20, left: word},
	{kind: "xai", prefix: "xai-", class: dashed, min: 20, left: word, test: solid},
	{kind: "huggingface", prefix: "hf_", class: alnum, min: 20, left: word},
	{kind: "replicate", prefix: "r8_", class: alnum, min: 20, left: word},
	{kind: "perplexity", prefix: "pplx-", class: alnum, min: 20, left: word},
	{kind: "nvidia", prefix: "nvapi-", class: dashed, min: 20, left: word},
	{kind: "tavily", prefix: "tvly-", class: dashed, min: 16, left: word, test: digit},
	{kind: "cerebras", prefix: "csk-", class: alnum, min: 20, left: word},
	{kind: "github", prefix: "ghp_", class: alnum, min: 20, left: alnum},
	{kind: "github", prefix: "gho_", class: alnum, min: 20, left: alnum},
	{kind: "github", prefix: "ghu_", class: alnum, min: 20, left: alnum},
	{kind: "github", prefix: "ghs_", class: alnum, min: 20, left: alnum},
	{kind: "github", prefix: "ghr_", class: alnum, min: 20, left: alnum},
	{kind: "github", prefix: "github_pat_", class: word, min: 20},
	{kind: "gitlab", prefix: "glpat-", class: dotted, min: 16},
	{kind: "grafana", prefix: "glsa_", class: word, min: 20, left: word},
	{kind: "slack", prefix: "xoxa-", class: dashed, min: 10, left: word, test: digit},
	{kind: "slack", prefix: "xoxb-", class: dashed, min: 10, left: word, test: digit},
	{kind: "slack", prefix: "xoxe-", class: dashed, min: 10, left: word, test: digit},
	{kind: "slack", prefix: "xoxe.", class: dotted, min: 10, left: word, test: digit},
	{kind: "slack", prefix: "xoxp-", class: dashed, min: 10, left: word, test: digit},
	{kind: "slack", prefix: "xoxr-", class: dashed, min: 10, left: word, test: digit},
	{kind: "slack", prefix: "xoxs-", class: dashed, min: 10, left: word, test: digit},
	{kind: "slack", prefix: "xapp-", class: dashed, min: 10, left: word, test: digit},
	{kind: "aws", prefix: "AKIA", class: upper, min: 16, max: 16, left: alnum},
	{kind: "aws", prefix: "ASIA", class: upper, min: 16, max: 16, left: alnum},
	{kind: "npm", prefix: "npm_", class: alnum, min: 30, left: word},
	{kind: "pypi", prefix: "pypi-AgE", class: dashed, min: 16},
	{kind: "digitalocean", prefix: "dop_v1_", class: alnum, min: 20},
	{kind: "sendgrid", prefix: "SG.", class: dashed, min: 16, left: word, more: secondPart},
	{kind: "stripe", prefix: "sk_live_", class: alnum, min: 16, left: alnum},
	{kind: "stripe", prefix: "rk_live_", class: alnum, min: 16, left: alnum},
	{kind: "stripe", prefix: "sk_test_", class: alnum, min: 16, left: alnum},
	{kind: "stripe", prefix: "whsec_", class: alnum, min: 16, left: word},
	{kind: "linear", prefix: "lin_api_", class: alnum, min: 20, left: word},
	{kind: "figma", prefix: "figd_", class: dashed, min: 20, left: word},
	{kind: "shopify", prefix: "shpat_", class: alnum, min: 20, left: word},
	{kind: "docker", prefix: "dckr_pat_", class: dashed, min: 16},
	{kind: "vault", prefix: "hvs.", class: dashed, min: 20, left: word},
	{kind: "age", prefix: "AGE-SECRET-KEY-1", class: upper, min: 20},
	{kind: "langfuse", prefix: "sk-lf-", class: dashed, min: 16, left: word},
	{kind: "langsmith", prefix: "lsv2_", class: word, min: 20, left: word},
	{kind: "elevenlabs", prefix: "sk_", class: alnum, min: 40, left: word, test: digit},
	{kind: "e2b", prefix: "e2b_", class: alnum, min: 30, left: word},
	{kind: "firecrawl", prefix: "fc-", class: alnum, min: 30, left: word, test: digit},
	{kind: "databricks", prefix: "dapi", class: hexDigit, min: 32, left: word},
	{kind: "supabase", prefix: "sbp_", class: alnum, min: 30, left: word},
	{kind: "supabase", prefix: "sb_secret_", class: dashed, min: 20, left: word},
	{kind: "netlify", prefix: "nfp_", class: alnum, min: 30, left: word},
	{kind: "notion", prefix: "ntn_", class: alnum, min: 30, left: word},
	{kind: "atlassian", prefix: "ATATT3", class: bearer, min: 30, left: word},
	{kind: "postman", prefix: "PMAK-", class: dashed, min: 30, left: word},
	{kind: "heroku", prefix: "HRKU-", class: dashed, min: 30, left: word},
	{kind: "doppler", prefix: "dp.st.", class: dotted, min: 30, left: word},
	{kind: "rubygems", prefix: "rubygems_", class: hexDigit, min: 40, left: word},
	{kind: "sentry", prefix: "sntrys_", class: bearer, min: 30, left: word},
	{kind: "sentry", prefix: "sntryu_", class: hexDigit, min: 40, left: word},
	{kind: "planetscale", prefix: "pscale_tkn_", class: dotted, min: 20, left: word},
	{kind: "tailscale", prefix: "tskey-", class: dashed, min: 16, left: word, test: digit},
	{kind: "pulumi", prefix: "pul-", class: hexDigit, min: 40, left: word},
	{kind: "brevo", prefix: "xkeysib-", class: dashed, min: 30, left: word},
	{kind: "gitlab", prefix: "glrt-", class: dotted, min: 16, left: word, test: digit},
	{kind: "gitlab", prefix: "gldt-", class: dotted, min: 16, left: word, test: digit},
	{kind: "shopify", prefix: "shpss_", class: alnum, min: 20, left: word},
	{kind: "slack", prefix: "hooks.slack.com/services/", class: bearer, min: 20},
	{kind: "jwt", prefix: "eyJ", class: dashed, min: 8, left: dashed, more: jwtParts},
}

// window bounds how far a test that may say no looks ahead, so that a frame
// made of beginnings of keys costs no more than its length.
const window = 128

// match returns the end of the key that begins at start, or -1.
func (s *shape) match(text []byte, start int) int {
	i := start + len(s.prefix)
	if i > len(text) || string(text[start:i]) != s.prefix || s.left != nil && !edge(text, start, s.left) {
		return -1
	}
	from, near := i, min(i+window, len(text))
	for i < near && s.class[text[i]] && (s.max == 0 || i-from <= s.max) {
		i++
	}
	if n := i - from; n < s.min || s.max > 0 && n > s.max {
		return -1
	}
	if s.test != nil && !s.test(text[from:i]) {
		return -1
	}
	for i < len(text) && s.class[text[i]] {
		i++
	}
	if s.more != nil {
		return s.more(text, i)
	}
	return i
}

// begins is match for a hot path: it may say yes wrongly, never no.
func (s *shape) begins(text []byte, start int) bool {
	i := start + len(s.prefix)
	if string(text[start:i]) != s.prefix || s.left != nil && !edge(text, start, s.left) {
		return false
	}
	for n := 0; n < min(s.min, 12); n, i = n+1, i+1 {
		if i >= len(text) {
			return false
		}
		if !s.class[text[i]] {
			return text[i] == '\\'
		}
	}
	return true
}

// edge reports whether a word can begin at i: before it stands no byte of the
// class, or one that belongs to an escape (\n, \u0022) or to a colour code.
func edge(text []byte, i int, class *[256]bool) bool {
	if i == 0 || !class[text[i-1]] {
		return true
	}
	if i >= 2 && text[i-2] == '\\' && strings.IndexByte("abefnrtv0", text[i-1]) >= 0 {
		return true
	}
	if i >= 6 && text[i-6] == '\\' && text[i-5] == 'u' || i >= 4 && text[i-4] == '\\' && text[i-3] == 'x' ||
		i >= 3 && text[i-3] == '%' {
		return true
	}
	if text[i-1] == 'm' {
		j := i - 1
		for j > 0 && i-j < 20 && (isDigit(text[j-1]) || text[j-1] == ';') {
			j--
		}
		return j > 0 && text[j-1] == '['
	}
	return false
}

// solid demands what tells a key from a name made of words: a digit, and a
// long stretch without a dash.
func solid(near []byte) bool {
	run, digits := 0, 0
	for _, c := range near {
		switch {
		case c == '-' || c == '_':
			run = 0
			continue
		case isDigit(c):
			digits++
		}
		if run++; run >= 16 && digits > 0 {
			return true
		}
	}
	return false
}

func digit(near []byte) bool { return bytes.ContainsAny(near, "0123456789") }

// secondPart demands ".", then as much again.
func secondPart(text []byte, end int) int {
	i := end + 1
	for i < len(text) && dashed[text[i]] {
		i++
	}
	if end >= len(text) || text[end] != '.' || i-end < 17 {
		return -1
	}
	return i
}

// jwtParts demands a payload and takes the signature, which may be missing
// where a log cut it off.
func jwtParts(text []byte, end int) int {
	if end+4 > len(text) || string(text[end:end+4]) != ".eyJ" {
		return -1
	}
	i := end + 1
	for i < len(text) && dashed[text[i]] {
		i++
	}
	if i < len(text) && text[i] == '.' {
		for i++; i < len(text) && dashed[text[i]]; {
			i++
		}
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// pemBegin begins every PEM text (RFC 7468).
const pemBegin = "-----BEGIN "

// pemHeader reports whether the whole first line of a private key stands at
// start.
func pemHeader(text []byte, start int) bool {
	label := text[start+len(pemBegin):]
	n := bytes.Index(label[:min(len(label), 48)], []byte("-----"))
	return n > 0 && bytes.HasSuffix(label[:n], []byte("PRIVATE KEY"))
}

// privateKey returns the end of the PEM private key that begins at start (with
// "-----BEGIN "), or -1. A key whose end is missing counts up to the first byte
// that cannot belong to it. quote says whether a byte ends the string around.
func privateKey(text []byte, start int, quote func(i int) bool) int {
	i := start + len(pemBegin)
	head := text[min(i, len(text)):min(i+48, len(text))]
	n := strings.Index(string(head), "PRIVATE KEY")
	if n < 0 {
		return -1
	}
	i += n + len("PRIVATE KEY")
	from, cut := i, -1
	for i < len(text) {
		c := text[i]
		if c == '-' && i+8 <= len(text) && string(text[i:i+5]) == "-----" {
			switch string(text[i+5 : i+8]) {
			case "END":
				i += 8
				for i < len(text) && !(text[i] == '-' && i+5 <= len(text) && string(text[i:i+5]) == "-----") && pemByte(text[i]) {
					i++
				}
				for i < len(text) && text[i] == '-' {
					i++
				}
				return i
			case "BEG":
				return pemCut(text, from, cut, i)
			}
		}
		if c == '"' && cut < 0 && quote(i) {
			cut = i
		}
		if !pemByte(c) {
			break
		}
		i++
	}
	return pemCut(text, from, cut, i)
}

// pemCut is the end of a key without an end, -1 when there is too little of it.
// Where the text around it ends, as that of a log line or of a text that comes in
// pieces does, its first bytes are enough.
func pemCut(text []byte, from, cut, i int) int {
	ends := cut >= 0 || i == len(text)
	if cut >= 0 {
		i = cut
	}
	if i-from >= 40 || ends && keyBegins(text[from:i]) {
		return i
	}
	return -1
}

// keyBegins reports whether the line of the words PRIVATE KEY, which stand before
// text, ends there and a key begins.
func keyBegins(text []byte) bool {
	line, ok := bytes.CutPrefix(text, []byte("-----"))
	i := blank(line, 0)
	return ok && bytes.ContainsAny(line[:i], "\nn") && keyStart(line[i:])
}

// keyStart reports whether text begins as the base64 of a private key does: of a
// SEQUENCE in DER (RFC 5958, 5915, 8017), whose second byte is its length, or of
// the words openssh-key-v1.
func keyStart(text []byte) bool {
	return len(text) > 1 && (text[0] == 'M' && 'A' <= text[1] && text[1] <= 'P' || text[0] == 'b' && text[1] == '3')
}

func pemByte(c byte) bool {
	return alnum[c] || strings.IndexByte("+/=-:,. \r\n\t\\\"'", c) >= 0
}
