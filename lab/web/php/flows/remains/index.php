<?php
require 'lab.php';
show('Choir', '<!-- the old copy of the site is in /backup/ --><p>We sing on Mondays.</p>' . links(['/index.php?page=way' => 'Your way']));
