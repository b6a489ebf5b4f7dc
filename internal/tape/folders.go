package tape

import (
	"os"
	"path/filepath"

	"agentrec/store"
)

// Folders returns the folders of this process's surroundings that stand in the
// frames of an agent started from it; see store.Session. What the environment
// does not name, or names as a root, is left out.
func Folders() map[string]string {
	folders := map[string]string{}
	add := func(name, path string) {
		path = filepath.Clean(path)
		if filepath.IsAbs(path) && filepath.Dir(path) != path {
			folders[name] = path
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(store.HomeFolder, home)
	}
	add(store.TempFolder, os.TempDir())
	return folders
}
