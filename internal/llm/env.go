package llm

import (
	"net/url"
	"slices"
	"strings"

	"agentrec/store"
)

// variable is one by which programs find a model's API.
type variable struct {
	name string
	base string // what programs take when it is not set
	form form   // of its value
	like []string
}

// form is how the value of a variable is read.
type form int

const (
	versioned form = iota // a base URL with its version: https://api.openai.com/v1
	plain                 // without: https://api.anthropic.com
	joined                // without, and paths are resolved against it, so it ends in a slash
	hostport              // without, and the scheme may be missing: 127.0.0.1:11434
)

// variables are those that are set for the agent on the route base-url. The
// names under like are read by the same programs where the first is not set:
// what the user has put there must not be hidden by it.
var variables = []variable{
	{"LLM_BASE_URL", "https://api.openai.com/v1", versioned, []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"}},
	{"OPENAI_BASE_URL", "https://api.openai.com/v1", versioned, []string{"OPENAI_API_BASE"}},
	{"OPENAI_API_BASE", "https://api.openai.com/v1", versioned, []string{"OPENAI_BASE_URL"}},
	{"OPENAI_HOST", "https://api.openai.com", joined, nil},
	{"ANTHROPIC_BASE_URL", "https://api.anthropic.com", plain, []string{"ANTHROPIC_API_BASE"}},
	{"ANTHROPIC_API_BASE", "https://api.anthropic.com", plain, []string{"ANTHROPIC_BASE_URL"}},
	{"ANTHROPIC_HOST", "https://api.anthropic.com", joined, nil},
	{"GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com", plain, nil},
	{"GEMINI_API_BASE", "https://generativelanguage.googleapis.com", plain, nil},
	{"OPENROUTER_API_BASE", "https://openrouter.ai/api/v1", versioned, nil},
	{"OLLAMA_HOST", "http://127.0.0.1:11434", hostport, nil},
}

// azureClash are the variables that OpenAI's SDKs refuse beside an endpoint of
// Azure; only a user can know that both are meant.
var azureClash = map[string]bool{"OPENAI_BASE_URL": true, "OPENAI_API_BASE": true}

// Env returns the environment in which the agent's model requests come to this
// Front: environ, with the variables of its route set. A base URL that stands in
// environ, or else in the .env that FrontOptions hold, becomes the upstream of
// that variable. On the route direct nothing is set.
func (f *Front) Env(environ []string) []string {
	switch f.o.Route {
	case store.RouteBaseURL:
		return set(set(environ, f.baseURLs(environ)), aroundProxy(environ))
	case store.RouteMITM:
		return set(environ, f.proxyVariables(environ))
	}
	return environ
}

// assignment is one variable of an environment.
type assignment struct{ name, value string }

// baseURLs returns the variables of the route base-url.
func (f *Front) baseURLs(environ []string) []assignment {
	file := parseDotEnv(f.o.DotEnv)
	known := func(name string) string {
		if v := lookup(environ, name); v != "" {
			return v // an empty one counts as not set, with the SDKs and with phi
		}
		return file[name]
	}
	azure := slices.ContainsFunc(environ, isAzure)
	for name := range file {
		azure = azure || isAzure(name)
	}
	var list []assignment
	for _, v := range variables {
		upstream := parseBase(known(v.name), v.form)
		own := upstream != nil
		for _, other := range v.like {
			if upstream == nil {
				upstream = parseBase(known(other), v.form)
			}
		}
		if upstream == nil {
			upstream = parseBase(v.base, v.form)
		}
		if azure && azureClash[v.name] && !own {
			continue
		}
		value := f.BaseURL(upstream)
		if v.form == joined {
			value += "/"
		}
		list = append(list, assignment{v.name, value})
	}
	return list
}

// aroundProxy returns what keeps requests to this machine from going through a
// proxy that environ names: without us they would have gone out by it, and many
// programs make no exception of their own.
func aroundProxy(environ []string) []assignment {
	const here = "127.0.0.1"
	proxied := false
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		proxied = proxied || lookup(environ, name) != ""
	}
	if !proxied {
		return nil
	}
	list := lookup(environ, "NO_PROXY")
	if list == "" {
		list = lookup(environ, "no_proxy")
	}
	entries := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(entries, here) || slices.Contains(entries, "*") {
		return nil
	}
	list = strings.Join(append(entries, here), ",")
	return []assignment{{"NO_PROXY", list}, {"no_proxy", list}}
}

func isAzure(variable string) bool { return strings.HasPrefix(variable, "AZURE_OPENAI_") }

// parseBase reads the value of a variable as an absolute URL of http, nil if it
// is none.
func parseBase(value string, form form) *url.URL {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	if form == hostport {
		value = ollamaURL(value)
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// ollamaURL completes what Ollama's clients accept as their host: a name or an
// address, with or without scheme and port. A server's address that means "all"
// is reached on this machine.
func ollamaURL(value string) string {
	if !strings.Contains(value, "://") {
		authority, path, _ := strings.Cut(value, "/")
		if strings.HasPrefix(authority, ":") {
			authority = "127.0.0.1" + authority
		}
		if u, err := url.Parse("http://" + authority); err == nil && u.Port() == "" {
			authority = strings.TrimSuffix(authority, ":") + ":11434"
		}
		value = "http://" + authority
		if path != "" {
			value += "/" + path
		}
	}
	return strings.Replace(value, "://0.0.0.0", "://127.0.0.1", 1)
}

// lookup returns the value of a variable, "" if it is not set. The last one
// counts, as it does when a process is started.
func lookup(environ []string, name string) string {
	for _, e := range slices.Backward(environ) {
		if key, value, ok := strings.Cut(e, "="); ok && key == name {
			return value
		}
	}
	return ""
}

// set returns environ with the variables of list in place of its own.
func set(environ []string, list []assignment) []string {
	ours := map[string]bool{}
	for _, a := range list {
		ours[a.name] = true
	}
	kept := make([]string, 0, len(environ)+len(list))
	for _, e := range environ {
		if key, _, _ := strings.Cut(e, "="); !ours[key] {
			kept = append(kept, e)
		}
	}
	for _, a := range list {
		kept = append(kept, a.name+"="+a.value)
	}
	return kept
}

// parseDotEnv reads a .env file as its common readers do: NAME=VALUE lines with
// an optional export before and optional quotes around the value. Values are
// not expanded; what cannot be read is passed over.
func parseDotEnv(text []byte) map[string]string {
	file := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if quote := value[:min(1, len(value))]; quote == `"` || quote == "'" {
			value, _, _ = strings.Cut(value[1:], quote)
		} else if at := strings.Index(value, " #"); at >= 0 {
			value = strings.TrimSpace(value[:at])
		}
		file[strings.TrimSpace(name)] = value
	}
	return file
}
