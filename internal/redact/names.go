package redact

import (
	"bytes"
	"slices"
	"strings"
)

// strength is how much a name says about the value beside it.
type strength uint8

const (
	nothing strength = iota
	weak             // the value must look like a secret
	strong           // any value but a placeholder is one
)

type name struct {
	suffix string // of the name in lower case without _ - . and spaces
	kind   string
	strength
}

// names is searched in order; the first suffix that fits decides. Names that
// only sound secret stand first.
var names = []name{
	{"progresstoken", "", nothing}, {"pagetoken", "", nothing}, {"nexttoken", "", nothing},
	{"continuationtoken", "", nothing}, {"cancellationtoken", "", nothing}, {"eostoken", "", nothing},
	{"bostoken", "", nothing}, {"padtoken", "", nothing}, {"unktoken", "", nothing}, {"masktoken", "", nothing},
	{"septoken", "", nothing}, {"clstoken", "", nothing}, {"stoptoken", "", nothing}, {"starttoken", "", nothing},
	{"endtoken", "", nothing}, {"pertoken", "", nothing}, {"publickey", "", nothing}, {"primarykey", "", nothing},
	{"foreignkey", "", nothing},

	{"password", "password", strong}, {"passwd", "password", strong}, {"passphrase", "password", strong},
	{"apikey", "api_key", strong}, {"subscriptionkey", "api_key", strong},
	{"secretkey", "secret", strong}, {"accesskey", "secret", strong}, {"encryptionkey", "secret", strong},
	{"signingkey", "secret", strong}, {"masterkey", "secret", strong}, {"authkey", "secret", strong},
	{"accountkey", "secret", strong}, {"sharedkey", "secret", strong}, {"privatekey", "private_key", strong},
	{"accesstoken", "token", strong}, {"refreshtoken", "token", strong}, {"idtoken", "token", strong},
	{"authtoken", "token", strong}, {"bearertoken", "token", strong}, {"sessiontoken", "token", strong},
	{"securitytoken", "token", strong}, {"apitoken", "token", strong}, {"bottoken", "token", strong},
	{"secrettoken", "token", strong}, {"authorization", "authorization", strong}, {"cookie", "cookie", strong},
	{"secret", "secret", strong},

	{"token", "token", weak}, {"credential", "credentials", weak}, {"credentials", "credentials", weak},
	{"auth", "authorization", weak}, {"pwd", "password", weak},
}

// anchors are the words the names end in.
var anchors = []string{"password", "passwd", "passphrase", "key", "token", "authorization", "cookie", "secret",
	"credential", "credentials", "auth", "pwd", "pass", "sig", "signature", "code", "keys", "passwords", "secrets", "tokens"}

// nameKind says what a name tells about its value. parameter says that it
// stands in the query of a URL.
func nameKind(ident []byte, parameter bool) (string, strength) {
	var buf [48]byte
	n, upperCase := len(buf), true
	for i := len(ident) - 1; i >= 0 && n > 0; i-- {
		c := ident[i]
		switch {
		case 'a' <= c && c <= 'z':
			upperCase = false
		case c == '_' || c == '-' || c == '.' || c == ' ':
			continue
		}
		n--
		buf[n] = fold(c)
	}
	plain := buf[n:]
	for i := range names {
		if s := names[i].suffix; len(plain) >= len(s) && string(plain[len(plain)-len(s):]) == s {
			return names[i].kind, names[i].strength
		}
	}
	switch string(plain) {
	case "key", "sig", "signature", "code":
		if parameter {
			return "token", weak
		}
	case "pass", "dbpass", "userpass":
		return "password", weak
	}
	if upperCase && len(plain) > 4 && (bytes.HasSuffix(ident, []byte("_KEY")) || bytes.HasSuffix(ident, []byte("_PASS"))) {
		return "secret", weak
	}
	if parameter && (bytes.HasSuffix(plain, []byte("signature")) || bytes.HasSuffix(plain, []byte("credential"))) {
		return "token", weak
	}
	return "", nothing
}

// pluralKind is nameKind for the name of a list or an object of secrets: apiKeys.
// What stands in "secrets" can as well be names of secrets.
func pluralKind(ident []byte) (string, strength) {
	if n := len(ident) - 1; n > 0 && ident[n] == 's' {
		if kind, how := nameKind(ident[:n], false); how == strong {
			if kind == "secret" && bytes.HasSuffix(ident, []byte("ecrets")) {
				how = weak
			}
			return kind, how
		}
	}
	return "", nothing
}

// placeholders are values that say that there is no secret here.
var placeholders = []string{"string", "str", "text", "null", "none", "nil", "true", "false", "undefined", "required",
	"optional", "password", "secret", "token", "apikey", "api_key", "api-key", "yes", "no", "bool", "boolean", "number",
	"object", "any", "hidden", "redacted", "[redacted]", "<redacted>", "(redacted)", "masked", "removed", "omitted", "bearer",
	"basic", "unset", "empty", "placeholder"}

// placeholder reports whether v only marks the place of a secret.
func placeholder(v []byte) bool {
	if len(v) == 0 {
		return true
	}
	if len(v) <= 12 {
		var low [12]byte
		for i, c := range v {
			low[i] = fold(c)
		}
		if slices.Contains(placeholders, string(low[:len(v)])) {
			return true
		}
	}
	switch first, last := v[0], v[len(v)-1]; {
	case first == '$':
		return len(v) > 1 && (v[1] == '{' || v[1] == '(' || all(v[1:], word))
	case first == '<' && last == '>' || first == '{' && last == '}' || first == '%' && last == '%':
		return len(v) > 1 && !bytes.ContainsAny(v[1:len(v)-1], "0123456789")
	}
	if bytes.Count(v, v[:1]) == len(v) && strings.IndexByte("*xX.-_#?", v[0]) >= 0 || bytes.Count(v, []byte("•"))*len("•") == len(v) {
		return true
	}
	for _, p := range []string{"your_", "your-", "YOUR_", "YOUR-", "process.env.", "os.environ", "os.getenv(", "import.meta.env."} {
		if bytes.HasPrefix(v, []byte(p)) {
			return true
		}
	}
	return false
}

func all(v []byte, class *[256]bool) bool {
	for _, c := range v {
		if !class[c] {
			return false
		}
	}
	return true
}

// programText are bytes that no key has and program text has everywhere.
var programText = classOf("(){}[]<>\"'`")

// plausible reports whether v looks made by a machine: no white space, long
// enough, digits and letters both or mixed case over a length that no name has,
// and neither a path, a URL nor program text.
func plausible(v []byte, least int) bool {
	if len(v) < least || placeholder(v) {
		return false
	}
	var digits, lower, uppers, marks int
	for _, c := range v[:min(len(v), window)] {
		switch {
		case c <= ' ' || c == 0x7f || programText[c]:
			return false
		case isDigit(c):
			digits++
		case 'a' <= c && c <= 'z':
			lower++
		case 'A' <= c && c <= 'Z':
			uppers++
		default:
			marks++
		}
	}
	letters := lower + uppers
	if !(digits > 0 && letters > 0) && !(lower > 0 && uppers > 0 && letters >= 20) {
		return false
	}
	return !bytes.Contains(v[:min(len(v), window)], []byte("://")) && !pathLike(v)
}

// relative begin the names of files that stand below a known folder, and
// topFolders are the first of the others (the Filesystem Hierarchy Standard, macOS,
// containers).
var (
	relative   = [][]byte{[]byte("./"), []byte("../"), []byte("~/")}
	topFolders = map[string]bool{"home": true, "Users": true, "tmp": true, "var": true, "etc": true, "usr": true, "opt": true, "run": true,
		"root": true, "mnt": true, "private": true, "workspace": true, "dev": true, "proc": true, "data": true, "app": true, "srv": true}
)

// pathLike reports whether v is a file's name rather than base64 that happens
// to begin with a slash.
func pathLike(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	for _, begin := range relative {
		if bytes.HasPrefix(v, begin) {
			return true
		}
	}
	if top, _, ok := bytes.Cut(v[1:min(len(v), window)], []byte("/")); ok && v[0] == '/' && topFolders[string(top)] {
		return true
	}
	if len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/') {
		return true
	}
	return v[0] == '/' && bytes.IndexByte(v[:min(len(v), window)], '.') >= 0
}
