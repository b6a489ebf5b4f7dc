package redact

import "strings"

// Argv returns a command line with its secrets replaced: --api-key X,
// --api-key=X, KEY=X, "Name: X", and whatever Text finds. argv stays as it is.
func (r *Redactor) Argv(argv []string) []string {
	out := make([]string, len(argv))
	var before strength // what the word before says about this one
	var kind string
	for i, arg := range argv {
		if before != nothing && r.valueOf(&out[i], arg, kind, before) {
			before = nothing
			continue
		}
		before = nothing
		if k, v, ok := strings.Cut(arg, "="); ok && k != "" && !strings.ContainsAny(k, " \t\n:/?&{\"'") {
			name, how := nameKind([]byte(k), false)
			if how == nothing && k[0] != '-' {
				if name = secretVariable(k); name != "" {
					how = weak
				}
			}
			var token string
			if how != nothing && r.valueOf(&token, v, name, how) {
				out[i] = k + "=" + token
				continue
			}
		} else if k, v, ok := strings.Cut(arg, ":"); ok && v != "" && all([]byte(k), dashed) {
			out[i] = k + ":" + r.Header(k, v)
			continue
		} else if strings.HasPrefix(arg, "-") {
			kind, before = nameKind([]byte(arg), false)
		}
		out[i] = string(r.Text([]byte(arg)))
	}
	return out
}

// valueOf sets dst to the token for the value of a name and reports whether the
// value is a secret.
func (r *Redactor) valueOf(dst *string, v, kind string, how strength) bool {
	if strings.HasPrefix(v, "-") && !plausible([]byte(v), 16) || placeholder([]byte(v)) || how == weak && !plausible([]byte(v), shortest) {
		return false
	}
	if _, ok := IsToken(v); ok {
		*dst = v
		return true
	}
	if how == strong || plausible([]byte(v), 12) {
		r.remember(value{text: v, kind: kind, weak: how == weak})
	}
	*dst = r.Token(r.engine.Load().kindOf([]byte(v), kind), []byte(v))
	return true
}

// headers that are secret, or tell who pays, though their names do not say so
// by the rules for names (facts of the providers' APIs and of AWS Signature 4).
var headers = map[string]string{
	"x-amz-date": "aws", "x-amz-credential": "aws", "x-amz-signature": "aws", "chatgpt-account-id": "account",
	"x-goog-user-project": "account", "openai-organization": "account", "openai-project": "account",
	"anthropic-organization-id": "account", "x-gemini-api-privileged-user-id": "account",
}

// Header returns the value of an HTTP header with its secrets replaced. The
// scheme of an authorization and the blanks around the value stay.
func (r *Redactor) Header(name, value string) string {
	kind, how := nameKind([]byte(name), false)
	if k, ok := headers[strings.ToLower(name)]; ok {
		kind, how = k, strong
	}
	if how == nothing {
		return string(r.Text([]byte(value)))
	}
	head := value[:len(value)-len(strings.TrimLeft(value, " \t"))]
	rest := value[len(head):]
	if kind == "authorization" {
		n := scheme([]byte(rest))
		head, rest = head+rest[:n], rest[n:]
	}
	var token string
	if r.valueOf(&token, rest, kind, how) {
		return head + token
	}
	return head + string(r.Text([]byte(rest)))
}

// Query returns the query of a URL with its secrets replaced.
func (r *Redactor) Query(query string) string {
	var out []string
	for part := range strings.SplitSeq(query, "&") {
		k, v, ok := strings.Cut(part, "=")
		if kind, how := nameKind([]byte(k), true); ok && how != nothing {
			var token string
			if r.valueOf(&token, v, kind, how) {
				part = k + "=" + token
			}
		}
		out = append(out, part)
	}
	return string(r.Text([]byte(strings.Join(out, "&"))))
}
