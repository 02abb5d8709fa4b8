// Package viewer shows what an agent thinks: the room, the imagined futures with their
// probability of success, the choice, what really happened, and how the confidence moves
// until the end of the episode.
//
// It holds everything but the window: the reader of run folders ([Open]), the pictures as
// lists of primitives ([Scene]), a rasteriser ([Raster]), PNG, GIF and MP4 ([Animate]),
// and the state that keys and clicks change ([App]). None of it needs a display. The
// window and the browser (package viewer/window) show the same pixels.
package viewer
