<?php
// A guest book. "weak" shows what came, "strip" takes scripts out of it, "attr" leaves single quotes and what links lead
// to; "sound" encodes, and links to the web alone.
require 'lab.php';
show('Guest book', hello() . links(['/book.php' => 'Read and write', '/profile.php' => 'Profile', '/search.php?q=nice' => 'Search']));
