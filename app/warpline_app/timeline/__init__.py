"""The timeline: time and row models, canvas, header, ruler, overview."""
