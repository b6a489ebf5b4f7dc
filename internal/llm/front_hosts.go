package llm

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// modelHosts are the hosts of model APIs whose requests the route mitm takes.
// A star stands for any characters.
var modelHosts = []string{
	"api.openai.com",
	"chatgpt.com", // Codex with a ChatGPT login
	"api.anthropic.com",
	"generativelanguage.googleapis.com",
	"cloudcode-pa.googleapis.com", // Gemini with a Google login
	"aiplatform.googleapis.com",
	"*-aiplatform.googleapis.com",
	"openrouter.ai",
	"*.openai.azure.com",
	"*.services.ai.azure.com",
	"models.inference.ai.azure.com",
	"models.github.ai",
	"api.githubcopilot.com",
	"*.githubcopilot.com",
	"bedrock-runtime.*.amazonaws.com",
	"api.cerebras.ai",
	"api.cohere.com",
	"api.deepinfra.com",
	"api.deepseek.com",
	"api.fireworks.ai",
	"api.groq.com",
	"api.minimax.io",
	"api.mistral.ai",
	"api.moonshot.ai",
	"api.moonshot.cn",
	"api.perplexity.ai",
	"api.sambanova.ai",
	"api.together.xyz",
	"api.x.ai",
	"api.z.ai",
	"codestral.mistral.ai",
	"dashscope.aliyuncs.com",
	"dashscope-intl.aliyuncs.com",
	"integrate.api.nvidia.com",
	"ollama.com",
	"open.bigmodel.cn",
	"opencode.ai",
	"router.huggingface.co",
}

// hostPattern is one entry of the allow-list.
type hostPattern struct {
	name string // lower case, with stars
	port string // "" is any
}

// CheckHost tells whether a Front accepts a host's pattern: a name, an address
// or *.SUFFIX, with a port behind it if only that is meant.
func CheckHost(pattern string) error {
	_, err := parseHost(pattern)
	return err
}

func parseHost(pattern string) (hostPattern, error) {
	name, port := strings.ToLower(pattern), ""
	if h, p, err := net.SplitHostPort(name); err == nil {
		name, port = h, p
	}
	name = strings.Trim(name, "[]")
	if _, err := strconv.ParseUint(port, 10, 16); port != "" && err != nil {
		name = ""
	}
	if _, err := path.Match(name, ""); err != nil || name == "" || strings.ContainsAny(name, "/@ \t") {
		return hostPattern{}, fmt.Errorf("%q is not a host; write a name, *.SUFFIX or an address, with :PORT if only that is meant", pattern)
	}
	return hostPattern{name, port}, nil
}

// allowList decides which hosts are the model's.
type allowList []hostPattern

func newAllowList(more []string) (allowList, error) {
	var list allowList
	for _, pattern := range slices.Concat(modelHosts, more) {
		p, err := parseHost(pattern)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// has tells whether HOST:PORT is on the list.
func (l allowList) has(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(l, func(p hostPattern) bool {
		if p.port != "" && p.port != port {
			return false
		}
		ok, _ := path.Match(p.name, host)
		return ok
	})
}

// namesThisMachine tells whether the list has loopback addresses, which most
// programs do not send through a proxy unless they are told to.
func (l allowList) namesThisMachine() bool {
	return slices.ContainsFunc(l, func(p hostPattern) bool { return onThisMachine(p.name) })
}

// Refusal is a host that a Front has refused.
type Refusal struct {
	Host  string // as the agent named it, with a port perhaps
	Times int
}

// maxRefusals is how many hosts are remembered.
const maxRefusals = 100

// refusals are the hosts refused so far, in the order of the first time.
type refusals struct {
	mu   sync.Mutex
	list []Refusal
}

func (r *refusals) add(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if r.list[i].Host == host {
			r.list[i].Times++
			return
		}
	}
	if len(r.list) < maxRefusals {
		r.list = append(r.list, Refusal{host, 1})
	}
}

// Refused returns the hosts that were answered with 403, the first hundred of
// them in the order of the first time. It may be called at any time.
func (f *Front) Refused() []Refusal {
	f.refusals.mu.Lock()
	defer f.refusals.mu.Unlock()
	return slices.Clone(f.refusals.list)
}
