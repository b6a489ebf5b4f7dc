package redact

// longestBelow bounds how much of what stands below a secret's name is looked
// at, in bytes, and deepestBelow how deep.
const (
	longestBelow = 8 << 10
	deepestBelow = 8
)

// inside looks at the strings of an object or a list that stands at i, behind
// the name of a secret: {"password":{"value":"..."}}. A member's name says what
// its value is: the secret itself, something about it, or one more secret.
func (s *search) inside(v *view, i int, w rule) {
	text := v.text
	if i < s.belowEnd { // the list or object around it has been looked at
		return
	}
	var open []below
	most := min(len(text), i+longestBelow)
	now := below{rule: w, secret: true} // what the next value is
	at := i
	defer func() { s.belowEnd = at }()
	for at < most {
		switch c := text[at]; c {
		case '{', '[':
			if len(open) == deepestBelow {
				return
			}
			now.object = c == '{'
			open = append(open, now)
			at++
			continue
		case '}', ']':
			at++
			if open = open[:len(open)-1]; len(open) == 0 {
				return
			}
			now = open[len(open)-1]
			continue
		}
		if n := blank(text, at); n > at {
			at = n
			continue
		}
		q := quoteAt(text, at)
		if q.char == 0 {
			at++ // a comma, a colon, a number, a word
			continue
		}
		if q != w.name {
			return // the end of the string around all this
		}
		from := at + q.len
		end, next := s.closing(v, from, q)
		at = max(next, from)
		top := open[len(open)-1]
		if colon := blank(text, next); top.object && colon < len(text) && text[colon] == ':' {
			now = memberOf(text[from:end], top.rule)
			at = colon + 1
		} else if now.secret {
			s.secret(v, from, end, now.rule, q)
		}
	}
}

// below is what is known of a value, or of those in a list or an object.
type below struct {
	rule   rule
	secret bool // a string there is taken for a secret, by rule
	object bool
}

// memberOf tells what stands under a name in an object below a secret's name:
// whether a string is taken for a secret, and by which rule.
func memberOf(ident []byte, w rule) below {
	if kind, how := nameKind(ident, false); how != nothing {
		w.kind, w.how = kind, max(w.how, how)
		if w.kind == "password" {
			w.how = strong // {"credentials":{"pass":"..."}}
		}
		return below{rule: w, secret: true}
	}
	switch folded(string(ident)) {
	case "value", "val", "raw", "plain", "plaintext", "plain_text", "cleartext", "current", "key":
		return below{rule: w, secret: true}
	}
	w.how = weak
	return below{rule: w, secret: !about[folded(string(ident))]}
}

// about are names of what is told about a secret, as JSON Schema and lists of
// settings do: their values are never one.
var about = map[string]bool{"type": true, "description": true, "title": true, "format": true, "pattern": true, "$ref": true,
	"enum": true, "default": true, "examples": true, "const": true, "required": true, "id": true, "$id": true, "name": true, "label": true,
	"env": true, "var": true, "variable": true, "path": true, "file": true, "url": true, "uri": true, "href": true, "source": true,
	"ref": true, "provider": true, "scope": true, "scopes": true, "created": true, "created_at": true, "expires": true, "expires_at": true, "updated_at": true,
	"user": true, "username": true, "email": true, "account": true, "account_id": true, "tenant": true, "client_id": true, "issuer": true,
	"model": true, "version": true, "kind": true, "status": true, "message": true, "help": true, "placeholder": true, "comment": true,
	"session_id": true, "sessionid": true, "request_id": true, "requestid": true, "hash": true, "integrity": true, "resolved": true, "digest": true, "checksum": true, "sha256": true, "fingerprint": true, "key_id": true, "keyid": true}
