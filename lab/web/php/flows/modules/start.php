<?php echo '<p>Books for all.</p>'; return true;
